import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { fakeToken, startFakeGateway } from '../testing/fake-gateway.ts'
import { createOrdersClient, type Order, OrdersApiFailure, watchOrder } from './orders.ts'

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

const pending: Order = {
  id: 'ord_1',
  version: 1,
  status: 'pending',
  access: 'locked',
  amountDue: 1,
  currency: 'EUR',
  payment: null,
  createdAt: '2026-01-01T00:00:00Z',
}
const paid: Order = { ...pending, version: 2, status: 'paid' }
const until = ({ status }: Order): boolean => status === 'paid'

/** A clock that moves only by sleeping, and an API that gives the answers in order and then repeats the last one. */
function watchFrom(...answers: (Order | number)[]) {
  const state = { time: 0, reads: 0 }
  const read = async (): Promise<Order> => {
    const answer = answers[Math.min(state.reads, answers.length - 1)] ?? pending
    state.reads += 1
    if (typeof answer === 'number') throw new OrdersApiFailure(`answered ${answer}`, { status: answer })
    return answer
  }
  const deps = {
    now: () => state.time,
    sleep: async (ms: number) => {
      state.time += ms
    },
    orders: { read, create: read, ensure: async () => ({ order: await read(), created: true }) },
  }
  return { state, watched: watchOrder(deps, 'ord_1', { until, deadline: 1_000 }) }
}

describe('watchOrder', () => {
  it('answers at once when the order is as expected', async () => {
    const { state, watched } = watchFrom(paid)
    expect(await watched).toBe(paid)
    expect(state).toEqual({ time: 0, reads: 1 })
  })

  it('queries again until it is', async () => {
    const { watched } = watchFrom(pending, pending, paid)
    expect(await watched).toBe(paid)
  })

  it('answers at the deadline how the order was seen last, without asking too often', async () => {
    const { state, watched } = watchFrom(pending)
    expect(await watched).toBe(pending)
    expect(state.time).toBe(1_000)
    expect(state.reads).toBeLessThan(20)
  })

  it.each([[503], [500], [429]])('queries again after a %i', async (status) => {
    expect(await watchFrom(status, paid).watched).toBe(paid)
  })

  it('gives up when orders cannot be read until the deadline', async () => {
    await expect(watchFrom(503).watched).rejects.toThrow('answered 503')
  })

  it('gives up at once on any other refusal', async () => {
    const { state, watched } = watchFrom(404)
    await expect(watched).rejects.toThrow('answered 404')
    expect(state.reads).toBe(1)
  })
})
