import { afterAll, describe, expect, it } from 'vitest'
import { makeOrder, ORDERS, unusedPath } from '../support/http/http-orders.ts'
import { type HttpCall, ORIGIN, startHttpSystem, WEBHOOK } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(
  await startHttpSystem({ gateway: { RATE_LIMIT_API: '100000' }, limits: { rateWindowSeconds: 3_600 } }),
)
const { call } = system

const namesOf = (list: string | undefined) => list?.toLowerCase().split(/\s*,\s*/) ?? []
const grantsOf = (headers: Readonly<Record<string, string>>) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'))

/** All that may differ between two equal requests. */
function withoutFresh(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { date: _d, ratelimit: _r, 'x-request-id': _x, ...lasting } = headers
  return lasting
}

describe('HEAD', () => {
  it('B01 has every header of GET, and no body', async () => {
    const { target, etag } = await makeOrder(system)
    for (const at of [target, ORDERS, `${ORDERS}?limit=1`, '/healthz', '/api/openapi.json']) {
      const [get, head] = [await call({ target: at }), await call({ method: 'HEAD', target: at })]
      expect([get.status, head.status, head.text]).toEqual([200, 200, ''])
      expect(withoutFresh(head.headers)).toEqual(withoutFresh(get.headers))
      expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(get.text))
    }
    expect((await call({ method: 'HEAD', target })).headers.etag).toBe(etag)
  })
})

describe('CORS', () => {
  const asked = {
    origin: ORIGIN,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type, idempotency-key, if-match',
  }

  it('B05 B07 B14 a preflight of an allowed origin is granted the methods and headers of the route', async () => {
    const answer = await call({ method: 'OPTIONS', target: unusedPath(), headers: asked, principal: null })
    const { headers } = answer
    expect([answer.status, headers['access-control-allow-origin']]).toEqual([204, ORIGIN])
    expect(headers['access-control-allow-methods']?.split(', ')).toContain('PUT')
    expect(namesOf(headers['access-control-allow-headers'])).toEqual(
      expect.arrayContaining(['content-type', 'idempotency-key', 'if-match', 'if-none-match', 'authorization']),
    )
    expect(namesOf(headers.vary)).toEqual(
      expect.arrayContaining(['origin', 'access-control-request-method', 'access-control-request-headers']),
    )
    expect(headers['access-control-max-age']).toBe('600')
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
    const all = await call({ method: 'OPTIONS', target: ORDERS, headers: asked, principal: null })
    expect(all.headers['access-control-allow-methods']).toBe('GET, HEAD, POST, OPTIONS')
  })

  it.each(['https://evil.example', 'https://shop.example.evil.example', 'null', 'HTTPS://SHOP.EXAMPLE'])(
    'B06 B07 the origin %s gets the same answer without any grant',
    async (origin) => {
      const preflight = await call({
        method: 'OPTIONS',
        target: unusedPath(),
        headers: { ...asked, origin },
        principal: null,
      })
      expect([preflight.status, grantsOf(preflight.headers)]).toEqual([204, []])
      expect(namesOf(preflight.headers.vary)).toContain('origin')
      const get = await call({ target: ORDERS, headers: { origin } })
      expect([get.status, grantsOf(get.headers), namesOf(get.headers.vary)]).toEqual([200, [], ['origin']])
    },
  )

  it('B08 no origin is granted anything at the webhook and health endpoints', async () => {
    for (const target of [WEBHOOK, '/healthz']) {
      const preflight = await call({ method: 'OPTIONS', target, headers: asked, principal: null })
      expect([preflight.status, grantsOf(preflight.headers)]).toEqual([204, []])
    }
    const refused = await call({ method: 'POST', target: WEBHOOK, headers: { origin: ORIGIN }, body: '{}' })
    expect([refused.status, grantsOf(refused.headers)]).toEqual([401, []])
  })

  const EXPOSED = [
    'etag',
    'location',
    'content-location',
    'retry-after',
    'ratelimit',
    'ratelimit-policy',
    'idempotent-replayed',
  ]

  it('B09 a script of the origin may read the headers that it needs', async () => {
    const { target } = await makeOrder(system)
    const { headers } = await call({ target, headers: { origin: ORIGIN } })
    expect(headers['access-control-allow-origin']).toBe(ORIGIN)
    expect(namesOf(headers['access-control-expose-headers'])).toEqual(expect.arrayContaining(EXPOSED))
  })

  const errors: { status: number; request: HttpCall }[] = [
    { status: 404, request: { target: unusedPath() } },
    { status: 401, request: { target: ORDERS, principal: null } },
    { status: 412, request: { target: unusedPath(), method: 'PUT', headers: { 'if-match': '*' }, body: {} } },
    { status: 413, request: { target: ORDERS, method: 'POST', body: 'x'.repeat(300_000) } },
  ]

  it.each(errors)('B10 an error $status keeps its CORS headers', async ({ request, status }) => {
    const answer = await call({ ...request, headers: { ...request.headers, origin: ORIGIN } })
    expect(answer.status).toBe(status)
    expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN)
    expect(namesOf(answer.headers['access-control-expose-headers'])).toEqual(expect.arrayContaining(EXPOSED))
    expect(namesOf(answer.headers.vary)).toEqual(expect.arrayContaining(['origin']))
  })

  it('B15 without an Origin nothing is granted', async () => {
    const { target } = await makeOrder(system)
    const { status, headers } = await call({ target })
    expect([status, grantsOf(headers), headers.vary]).toEqual([200, [], 'Origin'])
  })

  it('B16 a development machine may open itself to every origin', async () => {
    await using open = await startHttpSystem({ gateway: { CORS_ORIGINS: '*' } })
    const { headers } = await open.call({ target: ORDERS, headers: { origin: 'http://localhost:3000' } })
    expect(headers['access-control-allow-origin']).toBe('*')
  })
})
