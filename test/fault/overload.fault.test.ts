import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { residentMib } from '../../bench/measure/process-usage.ts'
import { SERVICE_FLAGS } from '../../scripts/start/node-flags.ts'
import { signedDelivery } from '../support/http/signed-delivery.ts'
import { createOrders } from '../support/load/mixed-load.ts'
import { portOfPrimary } from '../support/mongod/primary-of-run.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { paymentOf, type Stack, startStack } from '../support/stack/stack.ts'
import { until } from '../support/until.ts'

// The documented row sets it to ten minutes.
const SECONDS = Number(process.env.OVERLOAD_SECONDS ?? 10)
const PER_SECOND = Number(process.env.OVERLOAD_PER_SECOND ?? 60)
const TIMEOUT_MS = 240_000 + 3_000 * SECONDS

const DELAY_MS = 800
const KIB = 1_024
// Large ones, or this process would be busier than the gateway. Together they are three times the possible throughput.
const SIZES_KIB = [1, 64, 240, 240]
const MEMORY_MIB = 256
const ORDERS = 100
const GIVES_UP_MS = 15_000
const SETTLED_WITHIN_MS = 60_000

type Answer = number | 'none'

/** The results of the deliveries of an overload. */
interface Told {
  readonly answers: Map<Answer, number>
  readonly accepted: string[]
  readonly refused: { readonly eventId: string; readonly body: Buffer }[]
  slowestMs: number
}

/** An event without a handler, of about this size in KiB. */
function anEvent(sizeKib: number) {
  const eventId = `evt_${randomUUID()}`
  const event = { id: eventId, type: 'invoice.created', data: { object: { id: 'in_1' } } }
  return { eventId, body: Buffer.from(JSON.stringify(event).padEnd(sizeKib * KIB, ' ')) }
}

async function send(stack: Stack, body: Buffer): Promise<{ status: Answer; ms: number }> {
  const { path, headers } = signedDelivery({ body, secret: stack.secrets.acme.current })
  const begunAt = performance.now()
  const own = headers.filter(([name]) => !/^(host|content-length|connection)$/i.test(name))
  const request = { method: 'POST', headers: own.map(([name, value]): [string, string] => [name, value]), body }
  try {
    const answer = await fetch(`${stack.url}${path}`, { ...request, signal: AbortSignal.timeout(GIVES_UP_MS) })
    await answer.arrayBuffer()
    return { status: answer.status, ms: performance.now() - begunAt }
  } catch {
    return { status: 'none', ms: performance.now() - begunAt }
  }
}

/** Sends at a fixed pace for a time, whatever the answers are and however late they come. */
async function overload(stack: Stack): Promise<Told> {
  const told: Told = { answers: new Map(), accepted: [], refused: [], slowestMs: 0 }
  const underWay = new Set<Promise<void>>()
  const one = async (index: number): Promise<void> => {
    const { eventId, body } = anEvent(SIZES_KIB[index % SIZES_KIB.length] ?? 1)
    const { status, ms } = await send(stack, body)
    told.answers.set(status, (told.answers.get(status) ?? 0) + 1)
    told.slowestMs = Math.max(told.slowestMs, ms)
    if (status === 200) told.accepted.push(eventId)
    else if (told.refused.length < ORDERS) told.refused.push({ eventId, body })
  }
  const begunAt = performance.now()
  for (let index = 0; index < SECONDS * PER_SECOND; index += 1) {
    const early = begunAt + (index * 1_000) / PER_SECOND - performance.now()
    if (early > 0) await sleep(early)
    const delivery: Promise<void> = one(index).finally(() => underWay.delete(delivery))
    underWay.add(delivery)
  }
  await Promise.all(underWay)
  return told
}

/** Reads the resident memory of a process, in MiB, every half second until it is stopped. */
function watchMemory(pid: number) {
  const samples: number[] = []
  const timer = setInterval(() => samples.push(residentMib(pid)), 500)
  return { samples, [Symbol.dispose]: () => clearInterval(timer) }
}

describe('more than the gateway can store', () => {
  it(`for ${SECONDS} s is refused, its memory stays under ${MEMORY_MIB} MiB, and it recovers`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    await using resources = new AsyncDisposableStack()
    const proxy = resources.use(await startFaultProxy())
    proxy.leadTo(await portOfPrimary())
    const gateway = {
      MONGODB_URI: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`,
      NODE_OPTIONS: SERVICE_FLAGS.join(' '),
      LOG_LEVEL: 'info',
    }
    const stack = resources.use(await startStack({ gateway }))
    const orders = await createOrders(stack, ORDERS)
    proxy.delay(DELAY_MS)
    using memory = watchMemory(stack.gateway.pid)
    const told = await overload(stack)
    proxy.delay(0)
    const calmAt = performance.now()
    await until(
      async () => (await send(stack, anEvent(1).body)).status,
      (status) => status === 200,
    )
    const recoveredMs = performance.now() - calmAt
    // Send them one after the other, because no provider sends all at once. Together they would be too many again.
    const again: Answer[] = []
    for (const { body } of told.refused) again.push((await send(stack, body)).status)
    const paid = await Promise.all(orders.map((order) => stack.deliver(paymentOf(order))))
    await stack.untilSettled()
    const settledMs = performance.now() - calmAt
    const { samples } = memory
    process.stderr.write(
      [
        `answers ${JSON.stringify(Object.fromEntries(told.answers))}, the slowest after ${told.slowestMs.toFixed(0)} ms`,
        `memory at most ${Math.max(...samples).toFixed(0)} MiB`,
        `accepts again after ${recoveredMs.toFixed(0)} ms, all settled after ${settledMs.toFixed(0)} ms\n`,
      ].join('\n'),
    )

    const count = (answer: Answer): number => told.answers.get(answer) ?? 0
    expect(count(429) + count(500), 'deliveries that were too many').toBeGreaterThan(SECONDS)
    expect(count(200), 'deliveries that were stored meanwhile').toBeGreaterThan(SECONDS)
    expect([...told.answers.keys()].filter((answer) => ![200, 429, 500, 'none'].includes(answer))).toEqual([])
    expect(Math.max(...samples)).toBeLessThan(MEMORY_MIB)
    expect(again).toEqual(told.refused.map(() => 200))
    expect(paid.map(({ status }) => status)).toEqual(orders.map(() => 200))
    expect(settledMs).toBeLessThan(SETTLED_WITHIN_MS)
    const stored = new Set<string>()
    for await (const { eventId } of stack.events.find({ state: 'unhandled' }).project({ eventId: 1 }))
      stored.add(eventId)
    const missing = told.accepted.filter((eventId) => !stored.has(eventId))
    expect(missing, 'events that were accepted and are not stored').toEqual([])
    expect(await stack.receipts()).toHaveLength(ORDERS)
  })
})
