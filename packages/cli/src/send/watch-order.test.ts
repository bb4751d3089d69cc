import { describe, expect, it } from 'vitest'
import { type Order, OrdersApiFailure } from './orders-client.ts'
import { watchOrder } from './watch-order.ts'

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
