import { openUnreadPipe } from '@oncehook/kernel/testing/unread-pipe'
import { afterAll, describe, expect, it } from 'vitest'
import { createOrders } from '../support/load/mixed-load.ts'
import { WebhookSource } from '../support/load/webhook-source.ts'
import { type ReplacedService, replaceService } from '../support/stack/replaced-service.ts'
import { paymentOf, startStack } from '../support/stack/stack.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())
const stack = resources.use(await startStack())

// A write that does not fit into a page of the pipe starts the next page, so a full pipe may contain just over 32 KiB.
const LEAST_WHEN_FULL = 32_768
const MOST_ROUNDS = 10
const PACE = { perSecond: 1_000, parallel: 40 }

async function droppedLines(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(5_000) })).text()
  return Number(/^oncehook_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])
}

/** Delivers events that nothing handles, each until it is answered with 200. */
async function deliverStrange(count: number): Promise<void> {
  const [order = expect.unreachable()] = await createOrders(stack, 1)
  await using source = new WebhookSource(stack.provider('acme'), PACE)
  for (let n = 0; n < count; n += 1) source.add(paymentOf(order, { type: 'invoice.created' }))
  await source.run()
  expect(source.accepted).toBe(count)
}

/** Delivers until log lines are lost, and returns their number. Forged deliveries write too few lines for that. */
async function deliverUntilLost(): Promise<number> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    await deliverStrange(1_000)
    const dropped = await droppedLines(stack.place.adminPort)
    if (dropped > 0) return dropped
  }
  return 0
}

async function stopInOrder(service: ReplacedService): Promise<void> {
  const { code, signal, ms } = await service.stop()
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  expect(ms).toBeLessThan(10_000)
}

/**
 * This row uses one database node, not three like other rows. An unread log could only hold up the process that writes
 * it, before anything reaches the database. The commands to the database do not depend on the log's reader.
 */
describe('FP-35: a service whose log nobody reads', () => {
  it('loses lines, not deliveries, and counts them; the reader finds the rest, and how many were lost', async () => {
    using pipe = openUnreadPipe()
    await using gateway = await replaceService(stack, 'gateway', { stdout: pipe.writeEnd })
    expect(await deliverUntilLost()).toBeGreaterThan(0)

    pipe.read()
    const told = () => pipe.lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'log.lines-dropped')
    const sum = () => told().reduce((total, { lines }) => total + lines, 0)
    // Deliveries that were in progress may lose lines a moment later.
    await expect.poll(async () => (await droppedLines(stack.place.adminPort)) - sum()).toBe(0)
    expect(new Set(told().map(({ level }) => level))).toEqual(new Set(['warn']))
    await deliverStrange(1)
    await stopInOrder(gateway)
    await expect.poll(() => JSON.parse(pipe.lines.at(-1) ?? '{}')).toMatchObject({ msg: 'service.stopped' })
  })

  it('accepts deliveries in all workers, and stops cleanly', async () => {
    using pipe = openUnreadPipe()
    const settings = { WORKERS: '2' }
    await using gateway = await replaceService(stack, 'gateway', { stdout: pipe.writeEnd, settings })
    await deliverStrange(600)
    await stopInOrder(gateway)
    pipe.read()
    await expect.poll(() => pipe.lines.join('\n').length).toBeGreaterThan(LEAST_WHEN_FULL)
    for (const line of pipe.lines) expect(JSON.parse(line)).toHaveProperty('msg')
  })

  it('applies payments', async () => {
    using pipe = openUnreadPipe()
    await using fulfilment = await replaceService(stack, 'fulfilment', { stdout: pipe.writeEnd })
    const orders = await createOrders(stack, 300)
    await using source = new WebhookSource(stack.provider('acme'), PACE)
    for (const order of orders) source.add(paymentOf(order))
    await source.run()
    await stack.untilSettled()
    expect(await stack.receipts()).toHaveLength(orders.length)
    expect(await droppedLines(stack.place.fulfilmentPort)).toBe(0)
    await stopInOrder(fulfilment)
    pipe.read()
    await expect.poll(() => pipe.lines.join('\n').length).toBeGreaterThan(LEAST_WHEN_FULL)
  })
})
