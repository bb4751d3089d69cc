import type { Db } from 'mongodb'
import { bulkUpdate } from './bulk-update.ts'

/** What a majority probe works with. */
export interface MajorityProbeOptions {
  readonly db: Db
  /** The id of its one document. */
  readonly id: string
  /** Milliseconds on a clock that is never set back. */
  readonly now: () => number
}

/** The collection that the probes write to: one document for each kind of connection, however many processes there are. */
export const READINESS = 'readiness'

const EVERY_MS = 5_000
// Below the time that a probe gives to its checks, which also has to reach the server and come back.
const MAX_MS = 1_800

/**
 * Creates a check that throws unless a majority of the nodes confirms a write. It writes when it is asked, at most every
 * 5 s: in between, and while a write is under way, the latest answer counts.
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

/** A real change each time: a write that changes nothing would not have to reach any other node. */
async function touch(db: Db, id: string): Promise<void> {
  const update = { q: { _id: id }, u: { $currentDate: { at: true } }, upsert: true }
  await bulkUpdate(db, { update: READINESS, updates: [update], withinMs: MAX_MS })
}
