import type { Collection, WithId } from 'mongodb'
import type { EventRecord } from './records.ts'

// A round of takeovers and one slow call. The rest is a reserve for a busy machine.
const GRACE_MS = 15_000

/** Finds the events in process whose claim has ended, and those whose call broke and that are due again. */
export function findEndedClaims(events: Collection<EventRecord>): Promise<WithId<EventRecord>[]> {
  return events.find({ state: 'processing', $expr: { $lt: ['$dueAt', '$$NOW'] } }).toArray()
}

/** Records the events that nobody settled or took over for 15 seconds after their claim had ended. */
export class ClaimWatch {
  readonly #events: Collection<EventRecord>
  readonly #overdue = new Set<string>()
  #endedSince = new Map<string, number>()

  constructor(events: Collection<EventRecord>) {
    this.#events = events
  }

  /** The ids of the events that were noted. */
  get overdue(): string[] {
    return [...this.#overdue]
  }

  /** Looks once. To be called again and again while events are expected to be settled. */
  async look(): Promise<void> {
    const found = await findEndedClaims(this.#events)
    // Not from the end by the clock of the database: a test may set it.
    const now = performance.now()
    const endedSince = new Map<string, number>()
    for (const { _id, eventId, starts } of found) {
      const claim = `${_id} ${starts}`
      const since = this.#endedSince.get(claim) ?? now
      endedSince.set(claim, since)
      if (now - since > GRACE_MS) this.#overdue.add(eventId)
    }
    this.#endedSince = endedSince
  }
}
