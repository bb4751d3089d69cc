import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { openUnreadPipe } from '@oncehook/kernel/testing/unread-pipe'
import { describe, expect, it } from 'vitest'
import { createOrders } from '../support/mixed-load.ts'
import type { Settings } from '../support/service-under-test.ts'
import { paymentOf, type Stack, startStack } from '../support/stack.ts'
import { fulfilmentSettings, gatewaySettings } from '../support/stack-settings.ts'
import { WebhookSource } from '../support/webhook-source.ts'

const PATIENCE = { timeout: 30_000 }
// Of the 64 KiB of a pipe, whose pages are not filled to the end.
const NEARLY_FULL = 50_000
const PACE = { perSecond: 1_000, parallel: 40 }

/** Takes a service of the stack away and starts it again with another standard output. */
async function startWith(stack: Stack, name: 'gateway' | 'fulfilment', more: { stdout: number; settings?: Settings }) {
  await stack[name].kill('SIGTERM')
  const settings = name === 'gateway' ? gatewaySettings(stack.place) : fulfilmentSettings(stack.place)
  const child = spawn(process.execPath, [join(import.meta.dirname, `../../packages/${name}/src/main.ts`)], {
    env: { PATH: process.env.PATH, ...settings, ...more.settings },
    stdio: ['ignore', more.stdout, 'inherit'],
  })
  const ended = once(child, 'exit')
  return {
    child,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
      await stack[name].start()
    },
  }
}

const inTime = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(5_000) })

function isUp(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/readyz`, inTime()).then(
    ({ ok }) => ok,
    () => false,
  )
}

async function droppedLines(port: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`, inTime())).text()
  return Number(/^oncehook_log_lines_dropped_total (\d+)$/m.exec(metrics)?.[1])
}

/** Delivers events that nothing handles, each until it is answered with 200. */
async function deliverStrange(stack: Stack, count: number): Promise<void> {
  const [order = expect.unreachable()] = await createOrders(stack, 1)
  await using source = new WebhookSource(stack.provider('acme'), PACE)
  for (let n = 0; n < count; n += 1) source.add(paymentOf(order, { type: 'invoice.created' }))
  await source.run()
  expect(source.accepted).toBe(count)
}

/** Sends forged deliveries, each of which is logged. */
async function forge(stack: Stack, count: number): Promise<void> {
  const [order = expect.unreachable()] = await createOrders(stack, 1)
  await using source = new WebhookSource(stack.provider('acme'), PACE)
  for (let n = 0; n < count; n += 1) source.add(paymentOf(order), 'body')
  await source.run()
  expect(source.log.map(({ answers }) => answers)).toEqual(Array.from({ length: count }, () => [401]))
}

async function stopInOrder(child: ChildProcess, ended: Promise<unknown[]>): Promise<void> {
  const toldAt = performance.now()
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  expect(performance.now() - toldAt).toBeLessThan(10_000)
}

describe('FP-35: a service whose log nobody reads', () => {
  it('loses lines, not deliveries, and counts them; the reader finds the rest, and how many were lost', async () => {
    await using stack = await startStack()
    using pipe = openUnreadPipe()
    await using gateway = await startWith(stack, 'gateway', { stdout: pipe.writeEnd })
    await expect.poll(() => isUp(stack.place.adminPort), PATIENCE).toBe(true)
    await deliverStrange(stack, 600)
    await forge(stack, 5_000)
    const dropped = await droppedLines(stack.place.adminPort)
    expect(dropped).toBeGreaterThan(0)

    pipe.read()
    const told = () => pipe.lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'log.lines-dropped')
    await expect.poll(told, PATIENCE).toMatchObject({ level: 'warn', lines: dropped })
    await deliverStrange(stack, 1)
    await stopInOrder(gateway.child, gateway.ended)
    await expect.poll(() => JSON.parse(pipe.lines.at(-1) ?? '{}'), PATIENCE).toMatchObject({ msg: 'service.stopped' })
  }, 120_000)

  it('takes deliveries in all workers, and stops in order', async () => {
    await using stack = await startStack()
    using pipe = openUnreadPipe()
    const settings = { WORKERS: '2' }
    await using gateway = await startWith(stack, 'gateway', { stdout: pipe.writeEnd, settings })
    await expect.poll(() => isUp(stack.place.adminPort), PATIENCE).toBe(true)
    await deliverStrange(stack, 1_200)
    await stopInOrder(gateway.child, gateway.ended)
    pipe.read()
    await expect.poll(() => pipe.lines.join('\n').length, PATIENCE).toBeGreaterThan(NEARLY_FULL)
    for (const line of pipe.lines) expect(JSON.parse(line)).toHaveProperty('msg')
  }, 120_000)

  it('applies payments', async () => {
    await using stack = await startStack()
    using pipe = openUnreadPipe()
    await using fulfilment = await startWith(stack, 'fulfilment', { stdout: pipe.writeEnd })
    await expect.poll(() => isUp(stack.place.fulfilmentPort), PATIENCE).toBe(true)
    const orders = await createOrders(stack, 600)
    await using source = new WebhookSource(stack.provider('acme'), PACE)
    for (const order of orders) source.add(paymentOf(order))
    await source.run()
    await stack.untilSettled()
    expect(await stack.receipts()).toHaveLength(orders.length)
    expect(await droppedLines(stack.place.fulfilmentPort)).toBe(0)
    await stopInOrder(fulfilment.child, fulfilment.ended)
  }, 120_000)
})
