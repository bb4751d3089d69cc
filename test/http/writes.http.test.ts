import { afterAll, describe, expect, it } from 'vitest'
import { makeOrder, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { startHttpSystem } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const { call } = system
const stored = system.fulfilment.db.collection<{ _id: string }>('orders')

describe('PUT', () => {
  it('C02 the same content changes nothing, not even the version', async () => {
    const { id, target, text, etag } = await makeOrder(system, { note: 'n', metadata: { b: '1', a: '2' } })
    const again = { note: 'n', metadata: { a: '2', b: '1' } }
    for (let n = 0; n < 3; n += 1) {
      const { status, headers, json } = await call({ method: 'PUT', target, body: orderContent(again) })
      expect({ status, etag: headers.etag, json }).toEqual({ status: 200, etag, json: JSON.parse(text) })
    }
    expect(await stored.countDocuments({ _id: id })).toBe(1)
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
})

describe('DELETE', () => {
  it('C12 is 204 for an id that was never used, and leaves no trace of it', async () => {
    const target = unusedPath()
    expect((await call({ method: 'DELETE', target })).status).toBe(204)
    expect(await stored.countDocuments({ _id: target.slice(12) })).toBe(0)
  })
})

describe('PATCH', () => {
  const merge = 'application/merge-patch+json'

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

  it('C22 a patch that is no JSON is 400', async () => {
    const { target, text, etag } = await makeOrder(system)
    for (const body of ['{', '', '{"a":1,"a":1}', '{"note":"\xff"}']) {
      const octets = Buffer.from(body, 'latin1')
      expect((await call({ method: 'PATCH', target, headers: { 'if-match': etag }, body: octets })).status).toBe(400)
    }
    expect((await call({ target })).text).toBe(text)
  })
})
