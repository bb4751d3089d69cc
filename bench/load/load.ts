// A load on a receiver: how deliveries are sent, as fast as the answers allow or at instants fixed beforehand.
import { setTimeout as sleep } from 'node:timers/promises'
import { build, type Histogram } from 'hdr-histogram-js'
import { createHttpConnection, type HttpConnection } from './http-connection.ts'
import type { SignedDelivery } from './signed-deliveries.ts'

export type LoadPlan = ClosedLoad | OpenLoad

/** Each connection sends its next delivery when it has the answer to the last one. */
export interface ClosedLoad {
  readonly kind: 'closed'
  readonly connections: number
  /** The load ends after this time, or when every delivery is sent. */
  readonly forMs: number
}

/** Delivery number n is due n intervals after the start, even if earlier ones are late or fail. */
export interface OpenLoad {
  readonly kind: 'open'
  readonly connections: number
  readonly perSecond: number
}

/** The result of a load. */
export interface LoadReport {
  /** Milliseconds since 1970 with fractions: the instants of the first delivery and of the last answer. */
  readonly beganAt: number
  readonly endedAt: number
  /** Ids of the events that were answered 200, one entry per answer. */
  readonly acknowledged: readonly string[]
  /** The number of other deliveries, by status, or by `broken` (no answer), `unanswered` and `unsent` (at the end). */
  readonly failed: Readonly<Record<string, number>>
  /** Milliseconds from the instant a delivery was sent (closed) or due (open) to its answer, 200 or not. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number; readonly max: number }
}

/** The deliveries of a load, and their destination. */
export interface Destination {
  readonly url: string
  readonly deliveries: readonly SignedDelivery[]
  /** Milliseconds since 1970, with fractions. The value never decreases. */
  readonly now: () => number
}

/** How long to wait for answers after the end of a load. */
const GRACE_MS = 15_000
const LONGEST_US = 120_000_000

/**
 * Sends over all connections at once. Each sends at least one delivery, and the next one when the last one is answered,
 * until the time is over or every delivery is sent. The report shows how many per second are possible, but nothing about waiting, because
 * a receiver that stalls receives fewer deliveries.
 */
export async function sendClosed(plan: ClosedLoad, { url, deliveries, now }: Destination): Promise<LoadReport> {
  const queue = deliveries.values()
  const beganAt = now()
  const endAt = beganAt + plan.forMs
  const load = openLoad(url, plan.forMs + GRACE_MS)
  await onConnections(load, plan.connections, async (connection) => {
    do {
      const next = queue.next()
      if (next.done) return
      const sentAt = now()
      await send(load, connection, next.value, () => now() - sentAt)
    } while (now() < endAt)
  })
  return reportOf(load, beganAt, now())
}

/**
 * Sends every delivery at its fixed instant, or later as soon as a connection is free. Latency counts from the fixed
 * instant: a receiver that stalls delays every delivery that falls due meanwhile, as with a real provider. Deliveries
 * that are unsent or unanswered `graceMs` after the end of the schedule have failed.
 */
export async function sendOpen(
  plan: OpenLoad,
  { url, deliveries, now }: Destination,
  graceMs = GRACE_MS,
): Promise<LoadReport> {
  const beganAt = now()
  // Computed from the start and never from the one before, so that rounding does not add up.
  const dueAt = (index: number): number => beganAt + (index * 1_000) / plan.perSecond
  const load = openLoad(url, dueAt(deliveries.length) - beganAt + graceMs)
  const queue = deliveries.entries()
  let sent = 0
  await onConnections(load, plan.connections, async (connection) => {
    for (const [index, delivery] of queue) {
      for (let ms = dueAt(index) - now(); ms > 0; ms = dueAt(index) - now()) await sleep(ms)
      if (load.over.aborted) return
      sent += 1
      await send(load, connection, delivery, () => now() - dueAt(index))
    }
  })
  count(load, 'unsent', deliveries.length - sent)
  return reportOf(load, beganAt, now())
}

interface Load {
  readonly url: string
  readonly over: AbortSignal
  readonly latency: Histogram
  readonly acknowledged: string[]
  readonly failed: Record<string, number>
}

function openLoad(url: string, longestMs: number): Load {
  const digits = { lowestDiscernibleValue: 1, numberOfSignificantValueDigits: 3 } as const
  const latency = build({ ...digits, highestTrackableValue: LONGEST_US })
  return { url, over: AbortSignal.timeout(Math.ceil(longestMs)), latency, acknowledged: [], failed: {} }
}

/** Does `work` on every connection at once. The end of the load closes all connections, including those in use. */
async function onConnections({ url, over }: Load, connections: number, work: (on: HttpConnection) => Promise<void>) {
  const open = Array.from({ length: connections }, () => createHttpConnection(new URL(url)))
  const close = (): void => {
    for (const connection of open) connection.close()
  }
  over.addEventListener('abort', close, { once: true })
  try {
    await Promise.all(open.map(work))
  } finally {
    over.removeEventListener('abort', close)
    close()
  }
}

async function send(load: Load, on: HttpConnection, { eventId, request }: SignedDelivery, ms: () => number) {
  try {
    const status = await on.exchange(request)
    load.latency.recordValue(Math.min(LONGEST_US, Math.max(1, Math.round(ms() * 1_000))))
    if (status === 200) load.acknowledged.push(eventId)
    else count(load, String(status))
  } catch {
    count(load, load.over.aborted ? 'unanswered' : 'broken')
  }
}

function count({ failed }: Load, how: string, times = 1): void {
  if (times > 0) failed[how] = (failed[how] ?? 0) + times
}

function reportOf({ acknowledged, failed, latency }: Load, beganAt: number, endedAt: number): LoadReport {
  const at = (percentile: number): number => latency.getValueAtPercentile(percentile) / 1_000
  const summary = { p50: at(50), p90: at(90), p99: at(99), max: latency.maxValue / 1_000 }
  return { beganAt, endedAt, acknowledged, failed, latency: summary }
}
