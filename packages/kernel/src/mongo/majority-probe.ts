import type { Db } from 'mongodb'
import { bulkUpdate } from './bulk-update.ts'

export interface MajorityProbeOptions {
  readonly db: Db
  readonly id: string
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** The collection that probes write to: one document per kind of connection, regardless of the number of processes. */
export const READINESS = 'readiness'

const EVERY_MS = 5_000
// Less than the time limit of a readiness check, which also includes the round trip.
const MAX_MS = 1_800

/**
 * Creates a check that throws unless a majority of the nodes confirms a write. It writes at most every 5 s. In
 * between, and during a write, the latest result is used.
 */
export function createMajorityProbe({ db, id, now }: MajorityProbeOptions): () => Promise<void> {
  let askedAt = Number.NEGATIVE_INFINITY
  let underWay = false
  let answer: Promise<void> = Promise.resolve()
  return () => {
    if (!underWay && now() - askedAt >= EVERY_MS) {
      askedAt = now()
      underWay = true
      answer = touch(db, id).finally(() => {
        underWay = false
      })
    }
    return answer
  }
}

/**
 * Writes a document, and resolves when a majority has confirmed it. It changes each time: a write without a change would not
 * have to be replicated.
 */
export async function touch(db: Db, id: string): Promise<void> {
  const update = { q: { _id: id }, u: { $currentDate: { at: true } }, upsert: true }
  await bulkUpdate(db, { update: READINESS, updates: [update], withinMs: MAX_MS })
}
