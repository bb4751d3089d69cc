import { connect } from 'node:net'
import { canaryToken } from '@oncehook/kernel/testing/canary-token'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { hmacProvider } from '../testing/hmac-provider.ts'
import { startGateway } from '../testing/start-gateway.ts'

const token = canaryToken()
const hasty = canaryToken()
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(
  await startGateway({
    database,
    providers: { shop: hmacProvider({ id: 'only', value: token }) },
    settings: {
      ...{ API_TOKENS: JSON.stringify({ tests: token, hasty }), MAX_BODY_BYTES: '1000' },
      RATE_LIMIT_API: '20',
    },
    // No new window begins during the tests.
    limits: { rateWindowSeconds: 86_400 },
  }),
)

const authorization = `Bearer ${token}`
const JSON_TYPE = { 'content-type': 'application/json' }
const CANARY = 'canary of a body'

type Request = readonly [path: string, init: RequestInit, expected: object]

const ITEM = '/api/orders/{id}'
const ORDERS = '/api/orders'
const REFUSED: readonly Request[] = [
  ['/api/orders', {}, { method: 'GET', route: ORDERS, status: 401, code: 'unauthenticated' }],
  ['/api/orders', { headers: { authorization: 'Bearer canary' } }, { status: 401, code: 'unauthenticated' }],
  [
    '/api/orders?limit=x',
    { headers: { authorization } },
    { route: ORDERS, status: 400, code: 'invalid_request', principal: 'tests' },
  ],
  [
    '/api/orders',
    { method: 'POST', headers: { authorization, 'content-type': 'text/plain' }, body: CANARY },
    { method: 'POST', status: 415, code: 'unsupported_media_type', principal: 'tests' },
  ],
  [
    '/api/orders/ord_1',
    { method: 'PUT', headers: { authorization, ...JSON_TYPE }, body: CANARY },
    { method: 'PUT', route: ITEM, status: 400, code: 'invalid_body', principal: 'tests' },
  ],
  ['/api/orders/ord_1', { headers: { authorization } }, { route: ITEM, status: 503, code: 'unavailable' }],
  ['/api/orders/ord_1', { method: 'POST', headers: { authorization } }, { route: ITEM, status: 405 }],
  [
    '/api/webhooks/shpo',
    { method: 'POST', body: CANARY },
    { method: 'POST', route: '/api/webhooks/{provider}', status: 404, code: 'not_found' },
  ],
  ['/api/webhooks/shop', {}, { route: '/api/webhooks/{provider}', status: 405, code: 'method_not_allowed' }],
  ['/canary', {}, { route: 'unknown', status: 404, code: 'not_found' }],
]

function linesOf(requestId: string | null) {
  return gateway.logs.filter((line) => line.requestId === requestId)
}

/** Sends octets that are not an acceptable request, and resolves to the id in the answer. */
function sendBroken(octets: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1' })
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    socket.on('close', () => resolve(/"requestId":"([^"]+)"/.exec(text)?.[1])).on('error', reject)
    socket.write(octets)
  })
}

describe('a refused request', () => {
  it.each(REFUSED)('to %s leaves one line, by which its id is found', async (path, init, expected) => {
    const response = await fetch(`${gateway.url}${path}`, init)
    await response.arrayBuffer()
    expect(linesOf(response.headers.get('x-request-id'))).toMatchObject([{ msg: 'request.refused', ...expected }])
  })

  it('of a provider leaves only the line of its delivery, which names the address of the sender', async () => {
    const response = await fetch(`${gateway.url}/api/webhooks/shop`, { method: 'POST', body: CANARY })
    const line = { msg: 'webhook.refused', status: 401, address: '127.0.0.1' }
    expect(linesOf(response.headers.get('x-request-id'))).toMatchObject([line])
  })

  it('leaves a line when it is over a limit', async () => {
    const headers = { authorization: `Bearer ${hasty}` }
    const ask = () => fetch(`${gateway.url}/api/orders?limit=x`, { headers })
    const answers = await Promise.all(Array.from({ length: 25 }, ask))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited.length).toBeGreaterThan(0)
    for (const { headers } of limited) {
      const line = { msg: 'request.refused', status: 429, code: 'rate_limited', principal: 'hasty' }
      expect(linesOf(headers.get('x-request-id'))).toMatchObject([line])
    }
  })

  it.each([
    ['GET /api/orders HTTP/1.1\r\n\r\n', { method: 'GET', status: 400, code: 'bad_request' }],
    ['POST /api/orders HTTP/1.1\r\nHost: a\r\nExpect: canary\r\n\r\n', { status: 417, code: 'expectation_failed' }],
    ['canary\r\n\r\n', { status: 400, code: 'bad_request' }],
    ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', { status: 501, code: 'method_not_implemented' }],
  ])('that is not valid HTTP (%j) leaves one line too', async (octets, expected) => {
    const requestId = await sendBroken(octets)
    expect(linesOf(requestId ?? 'none')).toMatchObject([{ msg: 'request.refused', ...expected }])
  })

  it('leaves no body, no token and no path in the log', async () => {
    for (const [path, init] of REFUSED) await fetch(`${gateway.url}${path}`, init)
    expect(JSON.stringify(gateway.logs)).not.toContain('canary')
  })

  it('that was answered well leaves none', async () => {
    const response = await fetch(`${gateway.url}/healthz`)
    expect(response.status).toBe(200)
    expect(linesOf(response.headers.get('x-request-id'))).toEqual([])
  })
})
