import { expect, it } from 'vitest'
import { startFakeGateway } from '../testing/fake-gateway.ts'
import { createOrdersClient, type Order, OrdersApiFailure, watchOrder } from './orders.ts'

it('a refusal names its status and message, never the token', async () => {
  await using gateway = await startFakeGateway()
  const orders = createOrdersClient({ fetch, gateway: { url: gateway.url, token: 'a token that is wrong' } })
  await expect(orders.read('ord/1')).rejects.toMatchObject({
    ...{ name: 'OrdersApiFailure', status: 401 },
    message: 'GET /api/orders/ord%2F1 returned 401 {"code":"unauthenticated"}',
  })
})

/** Watches until the answer is `paid`, by a clock that moves only by sleeping. The last answer is repeated. */
function watchFrom(...answers: readonly ('pending' | 'paid' | number)[]) {
  const state = { time: 0, reads: 0 }
  const read = async (): Promise<Order> => {
    const answer = answers[Math.min(state.reads++, answers.length - 1)]
    if (typeof answer === 'number') throw new OrdersApiFailure(`answered ${answer}`, { status: answer })
    return { status: answer } as Order
  }
  const orders = { read, create: read, ensure: async () => ({ order: await read(), created: true }) }
  const sleep = async (ms: number): Promise<void> => {
    state.time += ms
  }
  const deps = { now: () => state.time, sleep, orders }
  const until = ({ status }: Order): boolean => status === 'paid'
  return { state, watched: watchOrder(deps, 'ord_1', { until, deadline: 1_000 }) }
}

it('an order is read until it is as expected, also through failures that pass', async () => {
  expect(await watchFrom('pending', 503, 429, 'paid').watched).toMatchObject({ status: 'paid' })
})

it('at the deadline, the answer is how the order was seen last, without many reads', async () => {
  const { state, watched } = watchFrom('pending')
  expect(await watched).toMatchObject({ status: 'pending' })
  expect(state.reads).toBeLessThan(20)
})

it('a refusal ends the watch at once, a failure at the deadline', async () => {
  const { state, watched } = watchFrom(404)
  await expect(watched).rejects.toThrow('answered 404')
  expect(state.reads).toBe(1)
  await expect(watchFrom(503).watched).rejects.toThrow('answered 503')
})
