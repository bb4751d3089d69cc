import { afterAll, describe, expect, it } from 'vitest'
import type { HttpAnswer } from '../support/http/http-answer.ts'
import { makeOrder, ORDERS, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { type HttpCall, startHttpSystem } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const { call } = system

function post(body: string | Buffer | object, headers: HttpCall['headers'] = {}): Promise<HttpAnswer> {
  return call({ method: 'POST', target: ORDERS, headers, body })
}

describe('a request body', () => {
  it('G01 has to be JSON', async () => {
    expect(await post('{"a":1,}')).toMatchObject({ status: 400, json: { code: 'invalid_body' } })
  })

  it('G06 an encoded body is refused', async () => {
    for (const coding of ['gzip', 'br', 'zstd']) {
      const answer = await post(orderContent(), { 'content-encoding': coding })
      expect(answer).toMatchObject({ status: 415, headers: { 'accept-encoding': 'identity' } })
    }
    expect((await post(orderContent(), { 'content-encoding': 'Identity' })).status).toBe(201)
  })

  it('G16 a body is counted in octets, up to the limit and not beyond', async () => {
    const padded = (size: number) => JSON.stringify(orderContent()).padEnd(size)
    expect((await post(padded(262_144))).status).toBe(201)
    expect(await post(padded(262_145))).toMatchObject({ status: 413, headers: { connection: 'close' } })
    const chunked = { 'transfer-encoding': 'chunked', 'content-length': undefined }
    const chunk = (size: number) => `${size.toString(16)}\r\n${padded(size)}\r\n0\r\n\r\n`
    expect((await post(chunk(262_144), chunked)).status).toBe(201)
    expect((await post(chunk(262_145), chunked)).status).toBe(413)
  })

  it.each(['GET', 'HEAD', 'DELETE'])('G17 a body of %s means nothing, but its size counts', async (method) => {
    const { target } = await makeOrder(system)
    const expected = { GET: 200, HEAD: 200, DELETE: 204 }[method]
    expect((await call({ method, target, body: 'x'.repeat(262_145) })).status).toBe(413)
    const headers = { 'transfer-encoding': 'chunked', 'content-length': undefined }
    const chunks = `40001\r\n${'x'.repeat(262_145)}\r\n0\r\n\r\n`
    expect((await call({ method, target, headers, body: chunks })).status).toBe(413)
    expect((await call({ method, target, body: '{broken', headers: { 'content-type': 'a/b' } })).status).toBe(expected)
  })

  it('G18 a body that is too large is refused before the sender is authenticated', async () => {
    const headers = { 'content-length': '262145', authorization: 'Bearer x', 'content-type': 'text/plain' }
    expect((await call({ method: 'POST', target: ORDERS, headers })).status).toBe(413)
    expect((await call({ method: 'PUT', target: unusedPath(), headers })).status).toBe(413)
    expect((await call({ method: 'PUT', target: ORDERS, headers })).status).toBe(405)
  })
})

describe('an order from a client', () => {
  const item = { sku: 'a', quantity: 1, unitAmount: 5 }
  const amounts = ['9007199254740993', '-0.5', '1E+17', '"5"', '5.0000000000000001']

  it.each(amounts)('G10 the amount %s is refused, never rounded', async (amount) => {
    const body = JSON.stringify(orderContent({ items: [{ ...item, unitAmount: 4711 }] }))
    expect((await post(body.replace('4711', amount))).status).toBe(400)
    const target = unusedPath()
    expect((await call({ method: 'PUT', target, body: body.replace('4711', amount) })).status).toBe(400)
    expect((await call({ target })).status).toBe(404)
  })

  it('G10 the largest amount is kept exactly, a total beyond it is refused', async () => {
    const most = { ...item, unitAmount: Number.MAX_SAFE_INTEGER }
    expect((await post(orderContent({ items: [most] }))).text).toContain('"amountDue":9007199254740991')
    expect((await post(orderContent({ items: [most, item] }))).status).toBe(400)
    expect((await post(orderContent({ items: [{ ...most, quantity: 2 }] }))).status).toBe(400)
  })

  it.each([
    ['an unknown member', orderContent({ discount: 1 })],
    ['a member of every object', JSON.stringify(orderContent({ note: 'n' })).replace('"note"', '"__proto__"')],
    ['a member of every object', orderContent({ constructor: 1 })],
    ['an array', [orderContent()]],
    ['null', 'null'],
  ])('G14 %s is refused', async (_, body) => {
    expect(await post(body)).toMatchObject({ status: 400, json: { code: 'invalid_request' } })
  })

  it('G14 the largest order is taken', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`${n}`.padEnd(40, 'k'), 'v'.repeat(500)]))
    const items = Array.from({ length: 1_000 }, () => ({ ...item, sku: 's'.repeat(100) }))
    const { status, json } = await post(
      orderContent({ items, metadata, note: 'n'.repeat(10_000), customerId: 'c'.repeat(255) }),
    )
    expect([status, json.amountDue]).toEqual([201, 5_000])
  })
})

describe('an answer', () => {
  it.each(['text/html', 'application/json;q=0'])('G07 nothing for Accept: %s', async (accept) => {
    const { target } = await makeOrder(system)
    for (const request of [
      { target },
      { target: ORDERS },
      { target: unusedPath(), method: 'PUT', body: orderContent() },
    ]) {
      expect(await call({ ...request, headers: { accept } })).toMatchObject({
        status: 406,
        json: { code: 'not_acceptable' },
      })
    }
  })

  it('G19 a page is as requested, or 400', async () => {
    for (let n = 0; n < 3; n += 1) await makeOrder(system)
    const first = await call({ target: `${ORDERS}?limit=2` })
    expect(first.json.items).toHaveLength(2)
    const second = await call({ target: `${ORDERS}?limit=1&after=${first.json.next}&status=pending` })
    expect(second.json.items).toHaveLength(1)
    const ids = [...first.json.items, ...second.json.items].map(({ id }: { id: string }) => id)
    expect(new Set(ids).size).toBe(3)
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=1&limit=1',
      'after=x',
      'status[$ne]=paid',
      'page=1',
      '__proto__=1',
    ]) {
      expect(await call({ target: `${ORDERS}?${query}` }), query).toMatchObject({
        status: 400,
        json: { code: 'invalid_request' },
      })
    }
    expect((await call({ target: `${ORDERS}?` })).status).toBe(200)
  })
})
