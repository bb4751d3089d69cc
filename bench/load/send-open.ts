import { setTimeout as sleep } from 'node:timers/promises'
import type { LoadReport, OpenLoad } from './load-report.ts'
import { onConnections } from './on-connections.ts'
import { createSchedule } from './schedule.ts'
import type { Sending } from './send-closed.ts'
import { Tally } from './tally.ts'

/**
 * Sends every delivery at its fixed instant, or later as soon as a connection is free. Latency counts from the fixed
 * instant: a receiver that stalls delays every delivery that falls due meanwhile, as with a real provider. Deliveries
 * that are unsent or unanswered `graceMs` after the end of the schedule have failed. When `cut` is aborted, deliveries
 * that fall due later are left out; those that were due before are still sent and counted.
 */
export async function sendOpen(
  { plan, url, deliveries, now }: Sending<OpenLoad>,
  cut?: AbortSignal,
): Promise<LoadReport> {
  const tally = new Tally()
  const beganAt = now()
  const schedule = createSchedule({ at: beganAt, count: deliveries.length, perSecond: plan.perSecond })
  const over = AbortSignal.timeout(Math.ceil(schedule.endsAt - beganAt + plan.graceMs))
  const queue = deliveries.entries()
  let lastDueAt = schedule.endsAt
  cut?.addEventListener('abort', () => {
    lastDueAt = Math.min(lastDueAt, now())
  })
  const isCut = (dueAt: number): boolean => over.aborted || dueAt > lastDueAt
  let sent = 0
  await onConnections({ url, count: plan.connections, over }, async (connection) => {
    for (const [index, { eventId, request }] of queue) {
      const dueAt = schedule.dueAt(index)
      await waitUntil(dueAt, now)
      if (isCut(dueAt)) return
      sent += 1
      try {
        tally.answered({ eventId, status: await connection.exchange(request), ms: now() - dueAt })
      } catch {
        tally.failed(over.aborted ? 'unanswered' : 'broken', 1)
      }
    }
  })
  tally.failed('unsent', schedule.dueBy(lastDueAt) - sent)
  return tally.report(beganAt, now())
}

async function waitUntil(instant: number, now: () => number): Promise<void> {
  for (let ms = instant - now(); ms > 0; ms = instant - now()) await sleep(ms)
}
