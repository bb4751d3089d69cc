import { randomUUID } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import {
  callTogether,
  countStatuses,
  makeOrder,
  ORDERS,
  orderContent,
  unusedPath,
} from '../support/http/http-orders.ts'
import { startHttpSystem } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const { call, deliver } = system
const stored = system.fulfilment.db.collection<{ _id: string }>('orders')

/** Pays an order in full and waits until the payment shows. */
async function pay(id: string): Promise<void> {
  const object = { id: `pay_${id}`, orderId: id, amount: 300, currency: 'EUR' }
  await deliver({ id: `evt_${randomUUID()}`, type: 'payment.succeeded', data: { object } })
  await expect.poll(async () => (await call({ target: `${ORDERS}/${id}` })).json.status).toBe('paid')
}

describe('PUT', () => {
  it('C01 C32 makes an order under an unused id', async () => {
    const target = unusedPath()
    const put = await call({ method: 'PUT', target, body: orderContent() })
    expect(put).toMatchObject({
      status: 201,
      json: { id: target.slice(12), version: 1, amountDue: 300, status: 'pending', access: 'locked', payment: null },
      headers: { etag: '"1"', 'content-location': target },
    })
    expect(put.headers.location ?? target).toBe(target)
    const get = await call({ target })
    expect([get.text, get.headers.etag]).toEqual([put.text, put.headers.etag])
    expect(get.headers['cache-control']).toBe('no-store, no-transform')
  })

  it('C02 the same content changes nothing, not even the version', async () => {
    const { id, target, text, etag } = await makeOrder(system, { note: 'n', metadata: { b: '1', a: '2' } })
    const again = { note: 'n', metadata: { a: '2', b: '1' } }
    for (let n = 0; n < 3; n += 1) {
      const { status, headers, json } = await call({ method: 'PUT', target, body: orderContent(again) })
      expect({ status, etag: headers.etag, json }).toEqual({ status: 200, etag, json: JSON.parse(text) })
    }
    expect(await stored.countDocuments({ _id: id })).toBe(1)
  })

  it('C02 minus zero is zero', async () => {
    const body = JSON.stringify(orderContent({ items: [{ sku: 'a', quantity: 1, unitAmount: 4711 }] }))
    const { target } = await makeOrder(system, { items: [{ sku: 'a', quantity: 1, unitAmount: 0 }] })
    for (const zero of ['-0', '0', '0.0', '-0e5']) {
      const put = await call({ method: 'PUT', target, body: body.replace('4711', zero) })
      expect([put.status, put.headers.etag]).toEqual([200, '"1"'])
    }
  })

  it('C03 C32 another body replaces the order', async () => {
    const { target, etag } = await makeOrder(system)
    const put = await call({ method: 'PUT', target, body: orderContent({ currency: 'USD' }) })
    expect(put).toMatchObject({
      status: 200,
      json: { currency: 'USD', version: 2 },
      headers: { 'content-location': target },
    })
    expect(put.headers.etag).not.toBe(etag)
    expect(await call({ target })).toMatchObject({ text: put.text, headers: { etag: put.headers.etag } })
  })

  it('C04 omitted properties are removed', async () => {
    const { target } = await makeOrder(system, { note: 'n', email: 'a@example.com', metadata: { a: 'b' } })
    await call({ method: 'PUT', target, body: orderContent() })
    const { json } = await call({ target })
    for (const member of ['note', 'email', 'metadata']) expect(json).not.toHaveProperty(member)
  })

  it.each(['customerId', 'currency', 'items'])('C05 without %s it is refused', async (member) => {
    const { target, text } = await makeOrder(system)
    const { [member]: _, ...body } = orderContent() as Record<string, unknown>
    expect(await call({ method: 'PUT', target, body })).toMatchObject({
      status: 400,
      json: { code: 'invalid_request' },
    })
    expect((await call({ target })).text).toBe(text)
  })

  it('C06 a body that names another id is refused, and neither order changes', async () => {
    const [one, other] = [await makeOrder(system), await makeOrder(system)]
    const put = await call({ method: 'PUT', target: one.target, body: orderContent({ id: other.id, note: 'x' }) })
    expect(put).toMatchObject({ status: 409, json: { code: 'id_mismatch' } })
    expect((await call({ target: one.target })).text).toBe(one.text)
    expect((await call({ target: other.target })).text).toBe(other.text)
  })

  it('C07 of twenty equal PUTs on an unused id one has created it', { repeats: 2 }, async () => {
    const target = unusedPath()
    const answers = await callTogether(system, 20, () => ({ method: 'PUT', target, body: orderContent() }))
    expect(countStatuses(answers)).toEqual({ 200: 19, 201: 1 })
    expect(new Set(answers.map(({ headers }) => headers.etag))).toEqual(new Set(['"1"']))
    expect(await stored.countDocuments({ _id: target.slice(12) })).toBe(1)
  })

  it('C08 a read order can be written back; its server properties are ignored', async () => {
    const { target, text, etag } = await makeOrder(system)
    const members = {
      version: 99,
      status: 'paid',
      amountDue: 1,
      access: 'unlocked',
      payment: { id: 'x' },
      createdAt: 1,
    }
    const put = await call({ method: 'PUT', target, body: { ...JSON.parse(text), ...members } })
    expect([put.status, put.text, put.headers.etag]).toEqual([200, text, etag])
  })

  it('C13 a part of an order cannot be put', async () => {
    const { target, text } = await makeOrder(system)
    const headers = { 'content-range': 'bytes 0-9/20' }
    expect((await call({ method: 'PUT', target, headers, body: orderContent({ note: 'x' }) })).status).toBe(400)
    expect((await call({ target })).text).toBe(text)
  })

  it('C14 a deleted id continues with a later version', async () => {
    const { target, etag } = await makeOrder(system)
    await call({ method: 'DELETE', target })
    const again = await call({ method: 'PUT', target, body: orderContent() })
    expect(again.status).toBe(201)
    expect(again.json.version).toBeGreaterThan(1)
    expect((await call({ method: 'PUT', target, headers: { 'if-match': etag }, body: orderContent() })).status).toBe(
      412,
    )
  })

  it('C15 a paid order keeps its items and currency', async () => {
    const { id, target } = await makeOrder(system)
    await pay(id)
    const { text, headers } = await call({ target })
    const items = [{ sku: 'book', quantity: 1, unitAmount: 150 }]
    const refused = { status: 409, json: { code: 'order_paid' } }
    expect(await call({ method: 'PUT', target, body: orderContent({ items }) })).toMatchObject(refused)
    expect(await call({ method: 'PUT', target, body: orderContent({ currency: 'USD' }) })).toMatchObject(refused)
    const patch = { method: 'PATCH', target, headers: { 'if-match': headers.etag } }
    expect(await call({ ...patch, body: { currency: 'USD' } })).toMatchObject(refused)
    expect((await call({ target })).text).toBe(text)
    expect(await call({ ...patch, body: { note: 'thanks' } })).toMatchObject({ status: 200, json: { status: 'paid' } })
  })

  it('C28 return=minimal leaves the representation out of the answer', async () => {
    const target = unusedPath()
    const headers = { prefer: 'return=minimal' }
    const applied = { 'preference-applied': 'return=minimal' }
    const created = await call({ method: 'PUT', target, headers, body: orderContent() })
    expect(created).toMatchObject({
      status: 201,
      text: '',
      headers: { ...applied, etag: '"1"', 'content-length': '0' },
    })
    expect(created.headers).not.toHaveProperty('content-type')
    const replaced = await call({ method: 'PUT', target, headers, body: orderContent({ note: 'x' }) })
    expect(replaced).toMatchObject({ status: 204, headers: { ...applied, etag: '"2"' } })
    const patched = await call({
      method: 'PATCH',
      target,
      headers: { ...headers, 'if-match': '"2"' },
      body: { note: 'y' },
    })
    expect(patched).toMatchObject({ status: 204, headers: { ...applied, etag: '"3"' } })
    const posted = await call({ method: 'POST', target: ORDERS, headers, body: orderContent() })
    expect(posted).toMatchObject({ status: 201, text: '', headers: { ...applied, etag: '"1"', 'content-length': '0' } })
    expect((await call({ target: posted.headers.location ?? '' })).status).toBe(200)
  })

  it.each([
    ['return=representation', 'return=representation'],
    ['respond-async, wait=10, RETURN="minimal"', 'return=minimal'],
    ['return=minimal; a=b', 'return=minimal'],
    ['note="a, return=minimal"', undefined],
    ['return=everything', undefined],
    ['return=representation, return=minimal', 'return=representation'],
    ['', undefined],
  ])('C29 Prefer: %s is read according to RFC 7240', async (prefer, applied) => {
    const { status, headers } = await call({
      method: 'PUT',
      target: unusedPath(),
      headers: { prefer },
      body: orderContent(),
    })
    expect([status, headers['preference-applied']]).toEqual([201, applied])
  })
})

describe('POST', () => {
  it('C09 C32 makes an order under an id of the server', async () => {
    const post = await call({ method: 'POST', target: ORDERS, body: orderContent() })
    expect(post).toMatchObject({ status: 201, headers: { etag: '"1"' } })
    expect(post.headers.location).toBe(`${ORDERS}/${post.json.id}`)
    expect(post.headers['content-location']).toBe(post.headers.location)
    const get = await call({ target: post.headers.location ?? '' })
    expect([get.text, get.headers.etag]).toEqual([post.text, post.headers.etag])
  })

  it('C10 twice without a key makes two', async () => {
    const post = () => call({ method: 'POST', target: ORDERS, body: orderContent() })
    expect((await post()).json.id).not.toBe((await post()).json.id)
  })
})

describe('DELETE', () => {
  it('C11 is 204, and 204 again', async () => {
    const { target } = await makeOrder(system)
    const statuses = []
    for (const method of ['DELETE', 'GET', 'DELETE', 'DELETE']) statuses.push((await call({ method, target })).status)
    expect(statuses).toEqual([204, 404, 204, 204])
  })

  it('C12 is 204 for an id that was never used, and leaves no trace of it', async () => {
    const target = unusedPath()
    expect((await call({ method: 'DELETE', target })).status).toBe(204)
    expect(await stored.countDocuments({ _id: target.slice(12) })).toBe(0)
  })

  it('C12 a deleted order is in no list', async () => {
    const { id, target } = await makeOrder(system)
    await call({ method: 'DELETE', target })
    const { json } = await call({ target: `${ORDERS}?limit=100` })
    expect(json.items.map((order: { id: string }) => order.id)).not.toContain(id)
  })
})

describe('PATCH', () => {
  const merge = 'application/merge-patch+json'

  it('C16 null removes a property, the others stay', async () => {
    const { target, etag } = await makeOrder(system, { note: 'n', email: 'a@example.com' })
    const headers = { 'if-match': etag, 'content-type': merge }
    const patch = await call({ method: 'PATCH', target, headers, body: '{"note":null}' })
    expect(patch).toMatchObject({ status: 200, json: { email: 'a@example.com', version: 2 }, headers: { etag: '"2"' } })
    expect(patch.json).not.toHaveProperty('note')
    expect(patch.headers['content-location']).toBe(target)
    expect((await call({ target })).text).toBe(patch.text)
  })

  it('C17 objects merge, arrays replace', async () => {
    const { target } = await makeOrder(system, { metadata: { a: '1', b: '2' } })
    const body = { metadata: { a: null, c: '3' }, items: [{ sku: 'x', quantity: 1, unitAmount: 1 }] }
    const { json } = await call({ method: 'PATCH', target, headers: { 'if-match': '*' }, body })
    expect(json).toMatchObject({ metadata: { b: '2', c: '3' }, amountDue: 1 })
    expect(json.metadata).not.toHaveProperty('a')
  })

  it('C18 application/json is a merge patch too', async () => {
    const { target, etag } = await makeOrder(system, { note: 'n' })
    for (const type of ['application/json', 'Application/JSON; charset="UTF-8"']) {
      const headers = { 'if-match': '*', 'content-type': type }
      expect((await call({ method: 'PATCH', target, headers, body: '{"note":null}' })).status).toBe(200)
    }
    expect(etag).toBe('"1"')
    expect((await call({ target })).json).not.toHaveProperty('note')
  })

  it.each(['text/plain', 'application/json-patch+json', 'application/merge-patch+json; charset=utf-16', undefined])(
    'C19 %s is no format for it',
    async (type) => {
      const { target, etag } = await makeOrder(system)
      const headers = { 'if-match': etag, 'content-type': type }
      const { status, headers: told } = await call({ method: 'PATCH', target, headers, body: '{}' })
      expect([status, told['accept-patch']]).toEqual([415, expect.stringContaining(merge)])
    },
  )

  it('C20 is 404 for a missing order, before any other check', async () => {
    for (const headers of [{ 'if-match': '"1"' }, {}]) {
      for (const body of ['{}', '{', '[]']) {
        expect((await call({ method: 'PATCH', target: unusedPath(), headers, body })).status).toBe(404)
      }
    }
  })

  it.each([
    ['no object', '[1]'],
    ['no object', 'null'],
    ['a member of the server', '{"version":7}'],
    ['a member of the server', '{"amountDue":1}'],
    ['a member of the server', '{"payment":{"id":"x"}}'],
    ['another id', '{"id":"other"}'],
    ['a needed member removed', '{"items":null}'],
    ['an unknown member', '{"discount":1}'],
    ['an amount that is none', '{"items":[{"sku":"a","quantity":0,"unitAmount":1}]}'],
    ['a member of every object', '{"__proto__":{"a":"b"}}'],
    ['a member of every object', '{"metadata":{"__proto__":"b"}}'],
  ])('C21 a patch with an invalid result is 422 and changes nothing: %s %s', async (_, body) => {
    const { target, text, etag } = await makeOrder(system)
    const patched = body.startsWith('{') ? body.replace('{', '{"note":"x",') : body
    const patch = await call({ method: 'PATCH', target, headers: { 'if-match': etag }, body: patched })
    expect(patch).toMatchObject({ status: 422, json: { code: 'patch_unprocessable' } })
    expect((await call({ target })).text).toBe(text)
  })

  it('C22 a patch that is no JSON is 400', async () => {
    const { target, text, etag } = await makeOrder(system)
    for (const body of ['{', '', '{"a":1,"a":1}', '{"note":"\xff"}']) {
      const octets = Buffer.from(body, 'latin1')
      expect((await call({ method: 'PATCH', target, headers: { 'if-match': etag }, body: octets })).status).toBe(400)
    }
    expect((await call({ target })).text).toBe(text)
  })

  it('C24 an empty patch changes nothing', async () => {
    const { target, text, etag } = await makeOrder(system)
    const patch = await call({ method: 'PATCH', target, headers: { 'if-match': etag }, body: '{}' })
    expect([patch.status, patch.text, patch.headers.etag]).toEqual([200, text, etag])
  })
})
