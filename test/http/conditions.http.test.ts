import { afterAll, describe, expect, it } from 'vitest'
import type { HttpAnswer } from '../support/http/http-answer.ts'
import { makeOrder, ORDERS, type OrderUnderTest, orderContent, unusedPath } from '../support/http/http-orders.ts'
import { startHttpSystem } from '../support/http/http-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const system = stack.use(await startHttpSystem())
const { call } = system

/** An order at its second version: `old` is the tag of the first. */
async function changedOrder(): Promise<OrderUnderTest & { old: string }> {
  const { id, target, etag: old } = await makeOrder(system)
  const { headers, text } = await call({ method: 'PUT', target, body: orderContent({ note: 'second' }) })
  return { id, target, etag: headers.etag ?? '', text, old }
}

function put(target: string, headers: Record<string, string | readonly string[]>, note = 'new'): Promise<HttpAnswer> {
  return call({ method: 'PUT', target, headers, body: orderContent({ note }) })
}

async function expectUnchanged({ target, text, etag }: OrderUnderTest): Promise<void> {
  expect(await call({ target })).toMatchObject({ status: 200, text, headers: { etag } })
}

describe('If-Match', () => {
  it('D11 two lines are one list', async () => {
    const { target, etag } = await makeOrder(system)
    expect((await put(target, { 'if-match': ['"zzz"', etag] })).status).toBe(200)
    expect((await put(target, { 'if-match': ['"zzz"', etag] })).status).toBe(412)
  })

  it.each(['', '1', 'cur', '"1', '1"', '*, "1"', '"1", *', '"1" "2"', '"1";q=1', '"\x01"'])(
    'D12 the broken value %j is 400, never an unconditional write',
    async (value) => {
      const order = await makeOrder(system)
      for (const name of ['if-match', 'if-none-match']) {
        const conditions = { [name]: value }
        expect((await put(order.target, conditions)).status).toBe(400)
        const patch = { 'if-match': order.etag, ...conditions }
        expect(
          (await call({ method: 'PATCH', target: order.target, headers: patch, body: { note: 'x' } })).status,
        ).toBe(400)
        expect((await call({ method: 'DELETE', target: order.target, headers: conditions })).status).toBe(400)
        expect((await call({ target: order.target, headers: conditions })).status).toBe(400)
      }
      await expectUnchanged(order)
    },
  )

  it('D13 conditions are checked before the content of a body, and after its type', async () => {
    const order = await changedOrder()
    const send = (headers: object, body: string, method = 'PUT') =>
      call({ method, target: order.target, headers: { ...headers }, body })
    for (const body of ['{', '{}', '{"a":1,"a":2}', '']) {
      expect((await send({ 'if-match': order.old }, body)).status).toBe(412)
      expect((await send({ 'if-none-match': '*' }, body)).status).toBe(412)
      expect((await send({ 'if-match': order.etag }, body)).status).toBe(400)
      expect((await send({ 'if-match': order.old }, body, 'PATCH')).status).toBe(412)
      expect((await send({}, body, 'PATCH')).status).toBe(428)
    }
    expect((await send({ 'if-match': order.old, 'content-type': 'text/plain' }, '{}')).status).toBe(415)
    expect((await send({ 'if-match': order.old, accept: 'text/html' }, '{}')).status).toBe(406)
    expect((await send({ 'if-match': order.old, authorization: 'Bearer x' }, '{}')).status).toBe(401)
    await expectUnchanged(order)
  })
})

describe('If-None-Match', () => {
  it('D23 dates are no conditions here, and ranges are not served', async () => {
    const { target, text } = await makeOrder(system)
    const [past, future] = ['Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 01 Jan 2100 00:00:00 GMT']
    for (const headers of [
      { 'if-unmodified-since': past },
      { 'if-modified-since': future },
      { range: 'bytes=0-3' },
      { range: 'bytes=0-3', 'if-range': '"1"' },
    ]) {
      expect(await call({ target, headers })).toMatchObject({ status: 200, text })
    }
    expect((await put(target, { 'if-unmodified-since': past })).status).toBe(200)
  })
})

describe('OPTIONS', () => {
  it('D40 conditions do not apply to OPTIONS', async () => {
    const headers = { 'if-match': '"7"', 'if-none-match': '*' }
    expect((await call({ method: 'OPTIONS', target: unusedPath(), headers })).status).toBe(204)
    expect((await call({ method: 'OPTIONS', target: ORDERS, headers })).status).toBe(204)
  })
})
