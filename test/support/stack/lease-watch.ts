import type { Collection, Document } from 'mongodb'
import type { EventRecord } from './records.ts'
import { STACK_LEASE_MS } from './stack-settings.ts'

// A lease, a round of takeovers and one slow call. The rest is a reserve for a busy machine.
const GRACE_MS = 15_000
// A timestamp of the server has whole seconds only.
const TIMESTAMP_STEP_MS = 1_000

/**
 * When the lease of a record in process ends, as an expression. A claim that was made by the insert has no `leaseUntil`:
 * its lease counts from `claimedAt`.
 */
export function leaseEndOf(leaseMs: number = STACK_LEASE_MS): Document {
  const lengthMs = { $ifNull: ['$leaseMs', leaseMs] }
  const firstEnd = { $add: [{ $convert: { input: '$claimedAt', to: 'date' } }, lengthMs, TIMESTAMP_STEP_MS] }
  return { $ifNull: ['$leaseUntil', firstEnd] }
}

/** Records the events that nobody renewed, settled or took over for 15 seconds after their lease had ended. */
export class LeaseWatch {
  readonly #events: Collection<EventRecord>
  readonly #graceMs: number
  readonly #overdue = new Set<string>()
  #endedSince = new Map<string, number>()

  constructor(events: Collection<EventRecord>, graceMs = GRACE_MS) {
    this.#events = events
    this.#graceMs = graceMs
  }

  /** The ids of the events that were noted. */
  get overdue(): string[] {
    return [...this.#overdue]
  }

  /** Looks once. To be called again and again while events are expected to be settled. */
  async look(): Promise<void> {
    const ended = { state: 'processing', $expr: { $lt: [leaseEndOf(), '$$NOW'] } } as const
    const found = this.#events.find(ended).project<{ eventId: string; fence: number }>({ eventId: 1, fence: 1 })
    const now = performance.now()
    const endedSince = new Map<string, number>()
    for await (const { eventId, fence } of found) {
      const claim = `${eventId} ${fence}`
      const since = this.#endedSince.get(claim) ?? now
      endedSince.set(claim, since)
      if (now - since > this.#graceMs) this.#overdue.add(eventId)
    }
    this.#endedSince = endedSince
  }
}
