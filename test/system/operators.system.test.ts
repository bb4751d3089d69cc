import { afterAll, describe, expect, it } from 'vitest'
import { callOperator } from '../support/stack/operator-call.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { paymentOf, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const stack = resources.use(await startStack())

interface Progress {
  readonly state: string
  readonly matched: number
  readonly started: number
  readonly done: number
  readonly failed: number
}

async function makeOrders(count: number): Promise<ApiOrder[]> {
  return Promise.all(Array.from({ length: count }, () => stack.orders.create()))
}

/** Starts a replay and returns its id. */
async function replay(input: object): Promise<string> {
  const asked = (await callOperator(stack, 'events.replay', { reason: 'a test', ...input })) as { replayId: string }
  return asked.replayId
}

async function progressOf(replayId: string): Promise<Progress> {
  const input = encodeURIComponent(JSON.stringify({ replayId }))
  return (await callOperator(stack, `replays.get?input=${input}`, undefined)) as Progress
}

/** Waits until a replay has ended and every event of it is settled. */
async function untilReplayed(replayId: string): Promise<Progress> {
  const isOver = ({ state, started, done, failed }: Progress): boolean =>
    state !== 'running' && started === done + failed
  return until(() => progressOf(replayId), isOver)
}

/** The events of these orders. */
function eventsOf(orders: readonly ApiOrder[]) {
  return { orderId: { $in: orders.map(({ id }) => id) } }
}

async function receiptsOf(orders: readonly ApiOrder[]) {
  const ids = new Set(orders.map(({ id }) => id))
  return (await stack.receipts()).filter(({ orderId }) => ids.has(orderId))
}

describe('a restore of a backup', () => {
  it('C18 of the gateway loses records but no effect: repeated deliveries are duplicates', async () => {
    const orders = await makeOrders(10)
    const payments = orders.map((order) => paymentOf(order))
    for (const payment of payments) await stack.deliver(payment)
    await stack.untilSettled()
    const before = await Promise.all(orders.map(({ id }) => stack.orders.read(id)))

    await stack.gateway.kill('SIGTERM')
    expect((await stack.events.deleteMany(eventsOf(orders))).deletedCount).toBe(10)
    await stack.gateway.restart()

    for (const payment of payments) expect((await stack.deliver(payment)).status).toBe(200)
    await stack.untilSettled()
    const records = await stack.events.find(eventsOf(orders)).toArray()
    expect(records.map(({ state }) => state)).toEqual(Array(10).fill('done'))
    expect(records.map(({ attempts }) => attempts[0]?.outcome)).toEqual(Array(10).fill('duplicate'))
    expect(await Promise.all(orders.map(({ id }) => stack.orders.read(id)))).toEqual(before)
    expect(await receiptsOf(orders)).toHaveLength(10)
  })

  it('C19 of fulfilment loses effects, and a replay of done events restores them, once', async () => {
    const orders = await makeOrders(10)
    const backup = await stack.orderRecords.find().toArray()
    const backedUpAt = new Date()
    for (const order of orders) await stack.deliver(paymentOf(order))
    await stack.untilSettled()
    const before = await Promise.all(orders.map(({ id }) => stack.orders.read(id)))
    expect(before.every(({ status }) => status === 'paid')).toBe(true)

    await stack.fulfilment.kill('SIGTERM')
    await stack.orderRecords.deleteMany()
    await stack.orderRecords.insertMany(backup)
    await stack.fulfilment.restart()
    await stack.untilReady()
    await stack.orders.untilStatus(orders[0]?.id ?? '', 'pending')

    const filter = { state: 'done', from: backedUpAt.toISOString() }
    const replayId = await replay({ filter, includeDone: true })
    expect(await untilReplayed(replayId)).toMatchObject({ matched: 10, done: 10, failed: 0 })
    await stack.untilSettled()
    const withoutTimes = ({ payment, updatedAt: _, ...order }: ApiOrder & { updatedAt?: string }) => ({
      ...order,
      payment: { ...payment, at: '' },
    })
    const after = await Promise.all(orders.map(({ id }) => stack.orders.read(id)))
    expect(after.map(withoutTimes)).toEqual(before.map(withoutTimes))
    // The receipts were sent again under their old keys: a receiver that respects the keys has ten.
    const keys = (await receiptsOf(orders)).map(({ key }) => key)
    expect(keys).toHaveLength(20)
    expect(new Set(keys).size).toBe(10)

    const again = await replay({ filter, includeDone: true })
    expect(await untilReplayed(again)).toMatchObject({ matched: 10, done: 10 })
    expect(await Promise.all(orders.map(({ id }) => stack.orders.read(id)))).toEqual(after)
    expect(await receiptsOf(orders)).toHaveLength(20)
  })
})
