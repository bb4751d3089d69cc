import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { makeOrder, ORDERS, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { startHttpSystem, WEBHOOK } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const { call, deliver, delivery } = system

const setOf = (list: string | undefined) => new Set(list?.split(/\s*,\s*/))
const ORDER_METHODS = new Set(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const WEBHOOK_METHODS = new Set(['POST', 'OPTIONS'])

describe('methods, targets, Allow', () => {
  it.each([
    ['A01', 'GET'],
    ['A02', 'PUT'],
    ['A02', 'PATCH'],
    ['A02', 'DELETE'],
  ])('%s %s is not allowed for the webhook URL', async (_, method) => {
    const before = await system.events.countDocuments()
    const { status, headers, json } = await call({ method, target: WEBHOOK, body: '{}' })
    expect({ status, code: json.code, allow: setOf(headers.allow) }).toEqual({
      status: 405,
      code: 'method_not_allowed',
      allow: WEBHOOK_METHODS,
    })
    expect(await system.events.countDocuments()).toBe(before)
  })

  it('A03 BP-51 HEAD is refused there like GET, without the body', async () => {
    const [get, head] = [await call({ target: WEBHOOK }), await call({ method: 'HEAD', target: WEBHOOK })]
    expect(head).toMatchObject({ status: 405, text: '', headers: { allow: get.headers.allow } })
    for (const name of ['content-type', 'content-length', 'vary']) expect(head.headers[name]).toBe(get.headers[name])
  })

  const elsewhere = ['/metrics', '/readyz', '/operator/overview', '/trpc/orders.list']

  it.each(['/api/', '/api/orders/', '/API/orders', '/api/webhooks/acme/', '/api/orders/../orders/a', ...elsewhere])(
    'A04 BP-44 nothing is found at %s',
    async (target) => {
      for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
        const { status, headers } = await call({ method, target })
        expect([status, headers['content-type']]).toEqual([404, 'application/json; charset=utf-8'])
      }
    },
  )

  it('A05 an unknown provider is 404 for any request', async () => {
    const before = await system.events.countDocuments()
    for (const target of [
      '/api/webhooks/unknown-provider',
      '/api/webhooks/',
      '/api/webhooks/__proto__',
      '/api/webhooks/ACME',
    ]) {
      for (const body of ['', '{', '{"id":"a"}', 'x'.repeat(2_000_000)]) {
        expect((await call({ method: 'POST', target, body, principal: null })).status).toBe(404)
      }
    }
    expect((await call({ method: 'OPTIONS', target: '/api/webhooks/unknown-provider' })).status).toBe(404)
    expect(await system.events.countDocuments()).toBe(before)
  })

  it.each(['PROPFIND', 'QUERY', 'TRACE', 'MKCOL', 'LOCK', 'SEARCH', 'LINK'])(
    'A08 BP-51 %s is not implemented, wherever it is tried',
    async (method) => {
      const { target } = await makeOrder(system)
      for (const at of [target, WEBHOOK, '/nowhere']) {
        const { status, text } = await call({ method, target: at, headers: { 'x-canary': 'no-echo-please' } })
        expect(status).toBe(501)
        expect(text).not.toContain('canary')
      }
    },
  )

  it('A11 OPTIONS lists the methods of an order', async () => {
    const { target } = await makeOrder(system)
    for (const at of [target, unusedPath()]) {
      const { status, headers } = await call({ method: 'OPTIONS', target: at, principal: null })
      expect([status, setOf(headers.allow)]).toEqual([204, ORDER_METHODS])
      expect(headers['accept-patch']).toContain('application/merge-patch+json')
    }
    const all = await call({ method: 'OPTIONS', target: ORDERS, principal: null })
    expect(setOf(all.headers.allow)).toEqual(new Set(['GET', 'HEAD', 'POST', 'OPTIONS']))
    expect(all.headers).not.toHaveProperty('accept-patch')
  })

  it('A12 OPTIONS needs no signature for the webhook URL', async () => {
    const { status, headers } = await call({ method: 'OPTIONS', target: WEBHOOK, principal: null })
    expect([status, setOf(headers.allow)]).toEqual([204, WEBHOOK_METHODS])
  })

  it('A17 no header and no parameter turns a request into another', async () => {
    const { target, text } = await makeOrder(system)
    const override = { 'x-http-method-override': 'DELETE', 'x-http-method': 'DELETE', 'x-method-override': 'DELETE' }
    expect((await call({ target: `${target}?_method=DELETE&method=DELETE`, headers: override })).status).toBe(200)
    expect(await call({ target })).toMatchObject({ status: 200, text })
  })

  it('A18 paths are compared as RFC 3986 says: with case, an escaped letter is that letter', async () => {
    const { id, target, text } = await makeOrder(system)
    expect(await call({ target: `/%61pi/%6Frders/%6F${id.slice(1)}` })).toMatchObject({ status: 200, text })
    expect((await call({ target: `/api/ORDERS/${id}` })).status).toBe(404)
    expect((await call({ target: target.toUpperCase() })).status).toBe(404)
  })

  it.each(['%ZZ', '%2F', '..', '%FF', `${'x'.repeat(129)}`])('A18 no order has the id %s', async (id) => {
    for (const [method, body] of [['GET'], ['PUT', orderContent()], ['DELETE'], ['PATCH', {}]] as const) {
      const headers = { 'if-match': '*' }
      expect((await call({ method, target: `${ORDERS}/${id}`, headers, ...(body ? { body } : {}) })).status).toBe(400)
    }
  })

  it.each(['/healthz?a=%', '/api/orders#a', '/api/orders/\xe9', '/api/orders/%e0%a4'])(
    'A18 the target %j is invalid',
    async (target) => {
      for (const method of ['GET', 'POST']) {
        expect(await call({ method, target })).toMatchObject({ status: 400, json: { code: 'bad_request' } })
      }
    },
  )

  it('A19 POST to an order is not allowed', async () => {
    const { target } = await makeOrder(system)
    const { status, headers } = await call({ method: 'POST', target, body: orderContent() })
    expect([status, setOf(headers.allow)]).toEqual([405, ORDER_METHODS])
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const all = await call({ method, target: ORDERS })
      expect([all.status, setOf(all.headers.allow)]).toEqual([405, new Set(['GET', 'HEAD', 'POST', 'OPTIONS'])])
    }
  })

  it('A21 the method is checked before the rights of the sender', async () => {
    expect((await call({ method: 'DELETE', target: ORDERS, principal: null })).status).toBe(405)
    expect((await call({ target: `${ORDERS}/a`, principal: null })).headers['www-authenticate']).toBe('Bearer')
    expect((await call({ method: 'GET', target: WEBHOOK, principal: null })).status).toBe(405)
  })

  it('A22 health needs no token', async () => {
    expect(await call({ target: '/healthz', principal: null })).toMatchObject({ status: 200, json: { status: 'ok' } })
    expect((await call({ method: 'POST', target: '/healthz' })).headers.allow).toBe('GET, HEAD, OPTIONS')
    const head = await call({ method: 'HEAD', target: '/healthz' })
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', '15'])
  })
})

describe('a delivery', () => {
  const anEvent = () => ({ id: `evt_${randomUUID()}`, type: 'customer.created', data: { object: { id: 'cus_1' } } })
  const RECEIVED = { status: 200, json: { received: true } }

  it('F23 may come in chunks', async () => {
    const { headers, body, ...rest } = delivery(anEvent())
    const octets = body as Buffer
    const chunks = [octets.subarray(0, 10), octets.subarray(10)].map(
      (part) => `${part.length.toString(16)};ext=1\r\n${part}\r\n`,
    )
    const chunked = { ...headers, 'transfer-encoding': 'Chunked', 'content-length': undefined }
    const sent = { ...rest, headers: chunked, body: `${chunks.join('')}0\r\nx-trailer: 1\r\n\r\n` }
    expect(await call(sent)).toMatchObject(RECEIVED)
  })

  it('F27 pays no attention to Accept, to conditions and to keys', async () => {
    const headers = { accept: 'text/html', 'if-match': 'x', 'if-none-match': '*', 'idempotency-key': '""' }
    expect(await deliver(anEvent(), headers)).toMatchObject(RECEIVED)
  })
})
