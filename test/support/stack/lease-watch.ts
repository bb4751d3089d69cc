import type { Collection } from 'mongodb'
import type { EventRecord } from './records.ts'

// A lease, a round of takeovers and one slow call. The rest is a reserve for a busy machine.
const GRACE_MS = 15_000

/** An event in process whose lease has ended. */
interface EndedLease {
  readonly eventId: string
  readonly fence: number
}

/**
 * Finds the events in process whose lease ended more than `forMs` ago. It is the lease of the process that holds them. A
 * process without a lease never had one.
 */
export async function findEndedLeases(events: Collection<EventRecord>, forMs = 0): Promise<EndedLease[]> {
  const end = { $ifNull: [{ $first: '$holder.aliveUntil' }, new Date(0)] }
  const holder = { from: 'owners', localField: 'leaseOwner', foreignField: '_id', as: 'holder' }
  return events
    .aggregate<EndedLease>([
      { $match: { state: 'processing' } },
      { $project: { eventId: 1, fence: 1, leaseOwner: 1 } },
      { $lookup: holder },
      { $match: { $expr: { $lt: [end, { $subtract: ['$$NOW', forMs] }] } } },
    ])
    .toArray()
}

/** Records the events that nobody settled or took over for 15 seconds after the lease of their holder had ended. */
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
    const found = await findEndedLeases(this.#events)
    const now = performance.now()
    const endedSince = new Map<string, number>()
    for (const { eventId, fence } of found) {
      const claim = `${eventId} ${fence}`
      const since = this.#endedSince.get(claim) ?? now
      endedSince.set(claim, since)
      if (now - since > this.#graceMs) this.#overdue.add(eventId)
    }
    this.#endedSince = endedSince
  }
}
