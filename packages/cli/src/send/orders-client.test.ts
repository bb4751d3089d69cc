import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { fakeToken, startFakeGateway } from '../testing/fake-gateway.ts'
import { createOrdersClient } from './orders-client.ts'

const draft = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'a', quantity: 2, unitAmount: 50 }] }

function connect(url: string, token = fakeToken) {
  return createOrdersClient({ fetch, gateway: { url, token } })
}

describe('createOrdersClient', () => {
  it('makes an order and reads it again', async () => {
    await using gateway = await startFakeGateway()
    const orders = connect(gateway.url)
    const order = await orders.create(draft)
    expect(order).toMatchObject({ status: 'pending', amountDue: 100, version: 1 })
    expect(await orders.read(order.id)).toEqual(order)
  })

  it('makes an order of a given id once', async () => {
    await using gateway = await startFakeGateway()
    const orders = connect(gateway.url)
    const first = await orders.ensure('ord/1 é', draft)
    const second = await orders.ensure('ord/1 é', { ...draft, currency: 'USD' })
    expect(first).toMatchObject({ created: true, order: { id: 'ord/1 é' } })
    expect(second).toEqual({ created: false, order: first.order })
  })

  it('reports a refusal with its status and message, never with the token', async () => {
    await using gateway = await startFakeGateway()
    const failure = await connect(gateway.url, 'a token that is wrong')
      .ensure('ord_1', draft)
      .catch((error) => error)
    expect(failure).toMatchObject({ name: 'OrdersApiFailure', status: 401 })
    expect(failure.message).toBe('PUT /api/orders/ord_1 returned 401 {"code":"unauthenticated"}')
  })

  it('reports that no server answers', async () => {
    const failure = await connect('http://127.0.0.1:9')
      .read('ord_1')
      .catch((error) => error)
    expect(failure).toMatchObject({ name: 'OrdersApiFailure', status: null })
  })

  it('rejects an answer that is not an order', async () => {
    const server = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(connect(url).read('ord_1')).rejects.toThrow('GET /api/orders/ord_1: the response is not an order')
    server.close()
  })
})
