import type { ClosedLoad, LoadReport } from './load-report.ts'
import { onConnections } from './on-connections.ts'
import type { SignedDelivery } from './signed-deliveries.ts'
import { Tally } from './tally.ts'

/** A load together with the deliveries it is made of and where they go. */
export interface Sending<Plan> {
  readonly plan: Plan
  readonly url: string
  readonly deliveries: readonly SignedDelivery[]
  /** Milliseconds since 1970 with fractions, never going back. */
  readonly now: () => number
}

const GRACE_MS = 15_000

/**
 * Sends over `connections` at once, each the next delivery when the last one is answered, until the time is over or
 * every delivery is sent. It shows how many per second are possible, and nothing about waiting: a receiver that stalls is
 * sent less.
 */
export async function sendClosed({ plan, url, deliveries, now }: Sending<ClosedLoad>): Promise<LoadReport> {
  const tally = new Tally()
  const queue = deliveries.values()
  const beganAt = now()
  const endAt = beganAt + plan.forMs
  const over = AbortSignal.timeout(Math.ceil(plan.forMs) + GRACE_MS)
  await onConnections({ url, count: plan.connections, over }, async (connection) => {
    while (now() < endAt) {
      const next = queue.next()
      if (next.done) return
      const { eventId, request } = next.value
      const sentAt = now()
      try {
        tally.answered({ eventId, status: await connection.exchange(request), ms: now() - sentAt })
      } catch {
        tally.failed(over.aborted ? 'unanswered' : 'broken', 1)
      }
    }
  })
  return tally.report(beganAt, now())
}
