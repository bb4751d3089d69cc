import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import type { HttpAnswer } from '../support/http/http-answer.ts'
import { callTogether, makeOrder, ORDERS, orderContent } from '../support/http/http-orders.ts'
import { type HttpCall, startHttpSystem } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const { call } = system
const stored = system.fulfilment.db.collection('orders')
const keys = system.fulfilment.db.collection('idempotency_keys')

const newKey = () => randomUUID()
/** A new customer id, by which the orders of one test can be counted. */
const newCustomer = () => `cus_${randomUUID()}`

function post(key: string | readonly string[], more: Partial<HttpCall> = {}): Promise<HttpAnswer> {
  const headers = { 'idempotency-key': key, ...more.headers }
  return call({ method: 'POST', target: ORDERS, body: orderContent(), ...more, headers })
}

/** The parts of an answer that a replay must repeat. */
function lasting({ status, text, headers }: HttpAnswer) {
  const { location, etag, 'content-type': type, 'content-location': content } = headers
  return { status, text, location, etag, type, content }
}

describe('Idempotency-Key', () => {
  it('E01 BP-42 a repeated request gets the stored answer byte for byte, and makes no order', async () => {
    const customerId = newCustomer()
    const body = orderContent({ customerId, metadata: { 10: 'a', 9: 'b', z: 'c', a: 'é\u2028' } })
    const key = newKey()
    const first = await post(`"${key}"`, { body })
    const second = await post(`"${key}"`, { body })
    expect(first.status).toBe(201)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
    expect(second.headers['idempotent-replayed']).toBe('true')
    expect(lasting(second)).toEqual(lasting(first))
    expect(second.headers['x-request-id']).not.toBe(first.headers['x-request-id'])
    expect(await stored.countDocuments({ customerId })).toBe(1)
  })

  it('E02 BP-42 another request under the key is refused, and the first still replays', async () => {
    const [key, customerId] = [newKey(), newCustomer()]
    const body = orderContent({ customerId })
    const first = await post(key, { body })
    for (const other of [orderContent({ customerId, note: 'x' }), {}, '{', '', '[]', { ...body, discount: 1 }]) {
      expect(await post(key, { body: other })).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused' } })
    }
    expect((await post(key, { body, target: `${ORDERS}?a=1` })).status).toBe(422)
    expect((await post(key, { body, headers: { 'content-type': 'application/vnd.x+json' } })).status).toBe(422)
    expect(lasting(await post(key, { body }))).toEqual(lasting(first))
    expect(await stored.countDocuments({ customerId })).toBe(1)
  })

  it.each([
    ['bare', 'quoted', (k: string) => [k, `"${k}"`]],
    ['quoted', 'bare', (k: string) => [`"${k}"`, k]],
    ['quoted', 'with blanks around and parameters', (k: string) => [`"${k}"`, ` "${k}";a=1;b `]],
    ['with a parameter', 'with another one', (k: string) => [`"${k}";a=1`, `"${k}";a=2; *x="y"`]],
  ])('E03 %s first, %s second is one key', async (_first, _second, forms) => {
    const [one = '', other = ''] = forms(newKey())
    const first = await post(one)
    expect(await post(other)).toMatchObject({ text: first.text, headers: { 'idempotent-replayed': 'true' } })
  })

  it('E04 twenty at once make one', async () => {
    const [count, key, customerId] = [20, newKey(), newCustomer()]
    const answers = await callTogether(system, count, () => ({
      method: 'POST',
      target: ORDERS,
      headers: { 'idempotency-key': key },
      body: orderContent({ customerId }),
    }))
    const made = answers.filter(({ status }) => status === 201)
    const waiting = answers.filter(({ status }) => status === 409)
    expect(made.length).toBeGreaterThan(0)
    expect(made.length + waiting.length).toBe(count)
    expect(new Set(made.map(({ text }) => text)).size).toBe(1)
    for (const answer of waiting) {
      expect(answer.json.code).toBe('idempotency_in_progress')
      expect(answer.headers).toMatchObject({ 'retry-after': '1' })
    }
    expect(await stored.countDocuments({ customerId })).toBe(1)
  })

  it.each(['', '""', 'k'.repeat(256), '"k', ':a2V5:', 'a b', '"k", "l"', '"\xe9"', '"a\\b"', 'k;a=1', '{"$gt":""}'])(
    'E07 BP-52 %j is not a key',
    async (key) => {
      const customerId = newCustomer()
      expect(await post(key, { body: orderContent({ customerId }) })).toMatchObject({ status: 400 })
      expect(await stored.countDocuments({ customerId })).toBe(0)
    },
  )

  it('E09 BP-52 two lines are no key, be they equal or different', async () => {
    const key = newKey()
    for (const lines of [
      [key, key],
      [key, newKey()],
      [`"${key}"`, `"${key}"`],
    ]) {
      expect(await post(lines)).toMatchObject({ status: 400 })
    }
    expect((await post(key)).headers).not.toHaveProperty('idempotent-replayed')
  })

  it('E11 a key belongs to its principal', async () => {
    const key = newKey()
    const [alice, bob] = [await post(key), await post(key, { principal: 'bob' })]
    expect([alice.status, bob.status]).toEqual([201, 201])
    expect(bob.json.id).not.toBe(alice.json.id)
    expect(bob.headers).not.toHaveProperty('idempotent-replayed')
    expect((await post(key, { principal: null })).status).toBe(401)
    expect((await post(key, { principal: 'bob' })).text).toBe(bob.text)
  })

  it('E13 white space and the order of properties do not matter', async () => {
    const key = newKey()
    const first = await post(key, {
      body: '{"customerId":"c","currency":"EUR","items":[{"sku":"a","quantity":1,"unitAmount":5}]}',
    })
    const again = await post(key, {
      body: ' {"items" : [{"unitAmount":5,"quantity":1.0,\r\n"sku":"\\u0061"}],\t"currency":"EUR","customerId":"c"}\n',
      target: `${ORDERS}?`,
      headers: { 'content-type': 'APPLICATION/JSON; charset=utf-8' },
    })
    expect(again).toMatchObject({ status: 201, text: first.text, headers: { 'idempotent-replayed': 'true' } })
  })

  it('E16 a replay returns the old answer and changes nothing', async () => {
    const key = newKey()
    const first = await post(key)
    const target = first.headers.location ?? ''
    const put = await call({ method: 'PUT', target, body: orderContent({ note: 'later' }) })
    expect((await post(key)).text).toBe(first.text)
    expect((await call({ target })).text).toBe(put.text)
    await call({ method: 'DELETE', target })
    expect(lasting(await post(key))).toEqual(lasting(first))
    expect((await call({ target })).status).toBe(404)
  })

  it('E19 a request refused for other reasons uses no key either', async () => {
    const key = newKey()
    const refused = [
      await post(key, { principal: null }),
      await post(key, { headers: { 'content-type': 'text/plain' } }),
      await post(key, { headers: { accept: 'text/html' } }),
      await post(key, { body: 'x'.repeat(300_000) }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([401, 415, 406, 413])
    const first = await post(key)
    expect(first.status).toBe(201)
    expect(first.headers).not.toHaveProperty('idempotent-replayed')
  })

  it('E24 other methods pay no attention to a key', async () => {
    const key = newKey()
    const { target } = await makeOrder(system)
    for (const note of ['one', 'two']) {
      const put = { method: 'PUT', target, headers: { 'idempotency-key': key }, body: orderContent({ note }) }
      expect(await call(put)).toMatchObject({ status: 200, json: { note } })
    }
    for (const broken of ['', '""', ':x:', 'a, b']) {
      const headers = { 'idempotency-key': broken, 'if-match': '*' }
      expect((await call({ target, headers })).status).toBe(200)
      expect((await call({ method: 'PATCH', target, headers, body: {} })).status).toBe(200)
    }
    expect((await call({ method: 'DELETE', target, headers: { 'idempotency-key': key } })).status).toBe(204)
  })

  it('E25 an expired key is as if it had never been used, be its row there or not', async () => {
    const key = newKey()
    const first = await post(key)
    expect((await post(key)).text).toBe(first.text)
    const { matchedCount } = await keys.updateOne({ key }, { $set: { expiresAt: new Date(0) } })
    expect(matchedCount).toBe(1)
    const other = await post(key, { body: orderContent({ note: 'another request' }) })
    expect(other.status).toBe(201)
    expect(other.json.id).not.toBe(first.json.id)
    expect(other.headers).not.toHaveProperty('idempotent-replayed')
    expect((await post(key)).status).toBe(422)
  })
})
