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
  it.each(['{', '{"a":}', '{"a":1,}', "{'a':1}", '{"a":01}', '{"a":1}x', '\ufeff{}', '{"a":NaN}', '{"a":"\u0001"}'])(
    'G01 %j is no JSON',
    async (body) => {
      expect(await post(body)).toMatchObject({ status: 400, json: { code: 'invalid_body' } })
    },
  )

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'json',
    '',
    ';;;',
    'text/json',
    undefined,
  ])('G02 Content-Type: %j is refused', async (type) => {
    const answer = await post(orderContent(), { 'content-type': type })
    expect(answer).toMatchObject({ status: 415, headers: { accept: 'application/json' } })
  })

  it('G03 the only charset is UTF-8', async () => {
    for (const charset of ['utf-16', 'iso-8859-1', '"utf-16"', 'utf-8x', '']) {
      expect((await post(orderContent(), { 'content-type': `application/json; charset=${charset}` })).status).toBe(415)
    }
    for (const charset of ['"UTF-8"', 'utf-8', 'UTF-8; x=y']) {
      expect((await post(orderContent(), { 'content-type': `application/json; charset=${charset}` })).status).toBe(201)
    }
  })

  it('G04 two lines of Content-Type are broken HTTP', async () => {
    const types = ['application/json', 'application/json']
    expect((await post(orderContent(), { 'content-type': types })).status).toBe(400)
  })

  it('G05 a body is needed', async () => {
    expect(await post('')).toMatchObject({ status: 400, json: { code: 'invalid_body' } })
    expect(await post('', { 'content-length': undefined })).toMatchObject({ status: 400 })
  })

  it('G06 an encoded body is refused', async () => {
    for (const coding of ['gzip', 'br', 'zstd']) {
      const answer = await post(orderContent(), { 'content-encoding': coding })
      expect(answer).toMatchObject({ status: 415, headers: { 'accept-encoding': 'identity' } })
    }
    expect((await post(orderContent(), { 'content-encoding': 'identity' })).status).toBe(201)
  })

  it('G11 bytes that are no UTF-8 are refused, not bent', async () => {
    for (const octets of ['\xff', '\xc0\xaf', '\xed\xa0\x80', '\xe2\x82']) {
      const body = Buffer.from(JSON.stringify(orderContent({ note: '!' })).replace('!', octets), 'latin1')
      expect((await post(body)).status).toBe(400)
    }
  })

  it('G12 half a surrogate pair is no text', async () => {
    for (const members of [{ note: '!' }, { metadata: { a: '!' } }, { metadata: { '!': 'a' } }, { customerId: '!' }]) {
      const body = JSON.stringify(orderContent(members)).replace('!', '\\ud800')
      expect((await post(body)).status).toBe(400)
    }
    expect((await post(orderContent({ note: '\u{1F600}' }))).json.note).toBe('\u{1F600}')
  })

  it.each([
    ['{', '{"currency":"EUR",'],
    ['{', '{"curr\\u0065ncy":"USD",'],
    ['"sku":', '"sku":"a","sku":'],
  ])('G13 a property that occurs twice is refused: %s becomes %s', async (once, twice) => {
    const body = JSON.stringify(orderContent()).replace(once, twice)
    expect(await post(body)).toMatchObject({ status: 400, json: { code: 'invalid_body' } })
  })

  it('G15 a nesting that would break its readers is refused', async () => {
    for (const levels of [65, 10_000]) {
      const body = JSON.stringify(orderContent({ note: '!' })).replace(
        '"!"',
        `${'['.repeat(levels)}${']'.repeat(levels)}`,
      )
      expect((await post(body)).status).toBe(400)
    }
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
  const amounts = [
    '9007199254740993',
    '9007199254740992',
    '1e400',
    '-1e400',
    '-0.5',
    '0.5',
    '-1',
    '1e-1',
    '1E+17',
    '"5"',
    'null',
    'true',
    '5.0000000000000001',
  ]

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
    ['a member of every object', '{"__proto__":{"a":1},"customerId":"c","currency":"EUR","items":[]}'],
    [
      'a member of every object',
      '{"customerId":"c","currency":"EUR","items":[{"sku":"a","quantity":1,"unitAmount":1,"__proto__":1}]}',
    ],
    ['a member of every object', JSON.stringify(orderContent({ note: 'n' })).replace('"note"', '"__proto__"')],
    ['a member of every object', JSON.stringify(orderContent({ metadata: { m: 'v' } })).replace('"m"', '"__proto__"')],
    ['a member of every object', orderContent({ constructor: 1 })],
    ['an unknown member of an item', orderContent({ items: [{ ...item, price: 1 }] })],
    ['a currency that is none', orderContent({ currency: 'XXY' })],
    ['a currency in lower case', orderContent({ currency: 'eur' })],
    ['no items', orderContent({ items: [] })],
    ['1,001 items', orderContent({ items: Array(1_001).fill(item) })],
    ['a quantity of 0', orderContent({ items: [{ ...item, quantity: 0 }] })],
    ['a sku of 256 bytes', orderContent({ items: [{ ...item, sku: 'é'.repeat(128) }] })],
    ['an empty sku', orderContent({ items: [{ ...item, sku: '' }] })],
    ['an empty customer', orderContent({ customerId: '' })],
    ['a customer of 256 bytes', orderContent({ customerId: 'x'.repeat(256) })],
    ['a note of 10,001', orderContent({ note: 'x'.repeat(10_001) })],
    [
      '51 members of metadata',
      orderContent({ metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, ''])) }),
    ],
    ['a name of 41', orderContent({ metadata: { ['x'.repeat(41)]: '' } })],
    ['a value of 501', orderContent({ metadata: { a: 'x'.repeat(501) } })],
    ['metadata that is no text', orderContent({ metadata: { a: 1 } })],
    ['an email that is none', orderContent({ email: 'x' })],
    ['a null', orderContent({ note: null })],
    ['an array', [orderContent()]],
    ['a text', '"x"'],
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
  it.each([
    undefined,
    '*/*',
    'application/*',
    'application/json',
    'text/html, application/json;q=0.1',
    'application/json;charset=utf-8',
    'garbage',
    '',
  ])('G06 JSON for Accept: %j', async (accept) => {
    const { target } = await makeOrder(system)
    const answer = await call({ target, headers: { accept } })
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
  })

  it.each(['text/html', 'application/xml', 'application/json;q=0', '*/*;q=0', 'text/*'])(
    'G07 nothing for Accept: %s',
    async (accept) => {
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
    },
  )

  it('G08 an unsupported body type is reported before an unacceptable answer type', async () => {
    const headers = { accept: 'text/html', 'content-type': 'text/plain' }
    expect((await post('x', headers)).status).toBe(415)
    expect((await call({ method: 'PUT', target: unusedPath(), headers, body: 'x' })).status).toBe(415)
    expect((await call({ method: 'PATCH', target: unusedPath(), headers, body: 'x' })).status).toBe(415)
  })

  it('G09 an error is plain JSON unless a problem is asked for', async () => {
    const target = unusedPath()
    expect((await call({ target })).headers['content-type']).toBe('application/json; charset=utf-8')
    expect((await call({ target, headers: { accept: '*/*' } })).headers['content-type']).toBe(
      'application/json; charset=utf-8',
    )
  })

  it.each([
    ['application/problem+json', true],
    ['application/json, application/problem+json', true],
    ['application/problem+json, application/json', true],
    ['application/json;q=0.5, application/problem+json', true],
    ['*/*, application/problem+json', true],
    ['application/json, application/problem+json;q=0.5', false],
    ['application/problem+json;q=0, */*', false],
    ['application/*', false],
    ['application/problem+jsonx', false],
  ])('R07 Accept: %s on an error', async (accept, problem) => {
    const { headers, json } = await call({ target: '/nowhere', headers: { accept } })
    expect(headers.vary).toContain('Accept')
    if (problem) {
      expect(headers['content-type']).toBe('application/problem+json')
      expect(json).toMatchObject({
        type: 'about:blank',
        title: 'Not Found',
        status: 404,
        detail: json.error,
        code: 'not_found',
      })
    } else {
      expect(headers['content-type']).toBe('application/json; charset=utf-8')
      expect(json).not.toHaveProperty('status')
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
      'limit=1.5',
      'limit=',
      'limit=1&limit=1',
      'limit=%31%30%31',
      'after=x',
      'after=',
      'status=gone',
      'status[$ne]=paid',
      'page=1',
      'limit=1e1',
      'limit=+1',
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
