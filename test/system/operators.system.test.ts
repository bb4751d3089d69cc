import { describe, expect, it } from 'vitest'
import { callOperator } from '../support/stack/operator-call.ts'
import type { ApiOrder } from '../support/stack/records.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

interface Progress {
  readonly state: string
  readonly matched: number
  readonly started: number
  readonly done: number
  readonly failed: number
}

async function makeOrders(stack: Stack, count: number): Promise<ApiOrder[]> {
  return Promise.all(Array.from({ length: count }, () => stack.orders.create()))
}

/** Starts a replay and returns its id. */
async function replay(stack: Stack, input: object): Promise<string> {
  const asked = (await callOperator(stack, 'events.replay', { reason: 'a test', ...input })) as { replayId: string }
  return asked.replayId
}

async function progressOf(stack: Stack, replayId: string): Promise<Progress> {
  const input = encodeURIComponent(JSON.stringify({ replayId }))
  return (await callOperator(stack, `replays.get?input=${input}`, undefined)) as Progress
}

/** Waits until a replay has ended and every event of it is settled. */
async function untilReplayed(stack: Stack, replayId: string): Promise<Progress> {
  const isOver = ({ state, started, done, failed }: Progress): boolean =>
    state !== 'running' && started === done + failed
  return until(() => progressOf(stack, replayId), isOver)
}

async function replaysOf(stack: Stack): Promise<number[]> {
  const records = await stack.events.find().toArray()
  return records.map(({ replays }) => replays?.length ?? 0)
}

describe('a replay', () => {
  it('continues after its process was killed between two slices, with one effect per event', async () => {
    await using stack = await startStack()
    const orders = await makeOrders(stack, 30)
    for (const order of orders) await stack.deliver(paymentOf(order, { amount: 1 }))
    await until(
      () => stack.events.countDocuments({ state: 'dead', reason: 'amount_mismatch' }),
      (count) => count === orders.length,
    )
    const body = JSON.stringify({ items: [{ sku: 'one', quantity: 1, unitAmount: 1 }] })
    for (const { id } of orders) {
      const headers = { 'content-type': 'application/merge-patch+json', 'if-match': '*' }
      expect((await stack.orders.send(`/${id}`, { method: 'PATCH', body, headers })).status).toBe(200)
    }

    const replayId = await replay(stack, { filter: { state: 'dead' }, ratePerSecond: 5 })
    await until(
      () => progressOf(stack, replayId),
      ({ started }) => started >= 5,
    )
    await stack.gateway.kill('SIGKILL')
    expect(new Set(await replaysOf(stack))).toEqual(new Set([0, 1]))
    await stack.gateway.restart()

    expect(await untilReplayed(stack, replayId)).toMatchObject({
      ...{ state: 'finished', matched: 30, started: 30, done: 30, failed: 0 },
    })
    expect(new Set(await replaysOf(stack))).toEqual(new Set([1]))
    await stack.untilSettled()
    for (const { id } of orders) {
      expect(await stack.orders.read(id)).toMatchObject({ status: 'paid', version: 3 })
    }
    expect(new Set((await stack.receipts()).map(({ key }) => key)).size).toBe(30)
    expect(await stack.receipts()).toHaveLength(30)
  })
})

describe('a restore of a backup', () => {
  it('C18 of the gateway loses records but no effect: repeated deliveries are duplicates', async () => {
    await using stack = await startStack()
    const orders = await makeOrders(stack, 10)
    const payments = orders.map((order) => paymentOf(order))
    for (const payment of payments) await stack.deliver(payment)
    await stack.untilSettled()
    const before = await Promise.all(orders.map(({ id }) => stack.orders.read(id)))

    await stack.gateway.kill('SIGTERM')
    expect((await stack.events.deleteMany()).deletedCount).toBe(10)
    await stack.gateway.restart()

    for (const payment of payments) expect((await stack.deliver(payment)).status).toBe(200)
    await stack.untilSettled()
    const records = await stack.events.find().toArray()
    expect(records.map(({ state }) => state)).toEqual(Array(10).fill('done'))
    expect(records.map(({ attempts }) => attempts[0]?.outcome)).toEqual(Array(10).fill('duplicate'))
    expect(await Promise.all(orders.map(({ id }) => stack.orders.read(id)))).toEqual(before)
    expect(await stack.receipts()).toHaveLength(10)
  })

  it('C19 of fulfilment loses effects, and a replay of done events restores them, once', async () => {
    await using stack = await startStack()
    const orders = await makeOrders(stack, 10)
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
    const replayId = await replay(stack, { filter, includeDone: true })
    expect(await untilReplayed(stack, replayId)).toMatchObject({ matched: 10, done: 10, failed: 0 })
    await stack.untilSettled()
    const withoutTimes = ({ payment, updatedAt: _, ...order }: ApiOrder & { updatedAt?: string }) => ({
      ...order,
      payment: { ...payment, at: '' },
    })
    const after = await Promise.all(orders.map(({ id }) => stack.orders.read(id)))
    expect(after.map(withoutTimes)).toEqual(before.map(withoutTimes))
    // The receipts were sent again under their old keys. A receiver that respects the keys has ten.
    const sent = await stack.receipts()
    expect([sent.length, new Set(sent.map(({ key }) => key)).size]).toEqual([20, 10])

    const again = await replay(stack, { filter, includeDone: true })
    expect(await untilReplayed(stack, again)).toMatchObject({ matched: 10, done: 10 })
    expect(await Promise.all(orders.map(({ id }) => stack.orders.read(id)))).toEqual(after)
    expect(await stack.receipts()).toHaveLength(20)
  })
})
