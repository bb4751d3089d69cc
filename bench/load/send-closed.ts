import type { ClosedLoad, LoadReport } from './load-report.ts'
import { onConnections } from './on-connections.ts'
import type { SignedDelivery } from './signed-deliveries.ts'
import { Tally } from './tally.ts'

/** A load, its deliveries and their destination. */
export interface Sending<Plan> {
  readonly plan: Plan
  readonly url: string
  readonly deliveries: readonly SignedDelivery[]
  /** Milliseconds since 1970, with fractions. The value never decreases. */
  readonly now: () => number
}

const GRACE_MS = 15_000

/**
 * Sends over all connections at once. Each sends its next delivery when the last one is answered, until the time is
 * over or every delivery is sent. The report shows how many per second are possible, but nothing about waiting, because
 * a receiver that stalls receives fewer deliveries.
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
