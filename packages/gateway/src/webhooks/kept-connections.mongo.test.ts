import { Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const secrets = [{ id: 'only', value: 'a secret of a shop that nobody knows' }]
const gateway = stack.use(
  await startGateway({
    database: stack.use(await testDatabase(process.env)),
    providers: { shop: { scheme: 'hmac', effects: [], header: 'x-signature', secrets } },
    settings: { RATE_LIMIT_FAILED: '1' },
    limits: { rateWindowSeconds: 3_600 },
  }),
)
const agent = stack.adopt(new Agent({ keepAlive: true, maxSockets: 1 }), (one) => one.destroy())

interface Answer {
  readonly status: number | undefined
  readonly connection: string | undefined
  readonly port: number | undefined
}

/** Sends a delivery without a signature over the one kept connection. */
function deliver(body: string, headers: IncomingHttpHeaders = { 'content-length': String(body.length) }) {
  return new Promise<Answer>((resolve, reject) => {
    const sent: ClientRequest = request(`${gateway.url}/api/webhooks/shop`, { method: 'POST', agent, headers })
    sent.on('error', reject).on('response', (response) => {
      const { statusCode: status, headers: answered } = response
      const answer = { status, connection: answered.connection, port: sent.socket?.localPort }
      response.resume().on('end', () => resolve(answer))
    })
    sent.end(body)
  })
}

// The next deliveries of this address are over the limit: they are refused unread.
beforeAll(async () => {
  expect(await deliver('{}')).toMatchObject({ status: 401, connection: 'keep-alive' })
})

it('a delivery of up to 64 KiB that is refused unread keeps its connection, and the next one is understood', async () => {
  const { port } = await deliver('{}')
  for (const bytes of [65_536, 100, 65_536, 0]) {
    expect(await deliver('x'.repeat(bytes))).toEqual({ status: 429, connection: 'keep-alive', port })
  }
})

it.each([
  ['is larger', {}],
  ['has no length', { 'transfer-encoding': 'chunked' }],
  ['waits for a 100', { 'content-length': '100', expect: '100-continue' }],
])('a delivery that is refused unread and %s closes its connection', async (_, headers) => {
  const answer = await deliver('x'.repeat('expect' in headers ? 100 : 65_537), headers)
  expect(answer).toMatchObject({ status: 429, connection: 'close' })
})
