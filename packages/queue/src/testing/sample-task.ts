import { randomUUID } from 'node:crypto'
import { ObjectId } from 'mongodb'
import type { Claim } from '../claim/claim.ts'
import type { TaskDocument } from '../task.ts'
import { NO_PAUSES } from './no-pauses.ts'

/** The handler of the tasks under test. */
export const HANDLER = 'billing'

/** How long a claim lasts, in milliseconds. */
export const LASTS_MS = 30_000

/** What tests use of claims. The owner of these tasks adds no dates, and keeps a body in `raw`. */
export const CLAIM_OPTIONS = {
  ...{ handler: HANDLER, lastsMs: LASTS_MS, maxCrashes: 8, maxDelayMs: 900_000, callBroke: 'handler_failed' },
  end: { ended: {}, dead: {} },
  unread: ['raw'],
  paused: () => NO_PAUSES.current,
} as const

/** A task that is done, and that nothing changes. The given properties replace the usual ones. */
export function sampleTask(members: Partial<TaskDocument> = {}): TaskDocument {
  return {
    ...{ _id: new ObjectId(), provider: 'acme', eventId: randomUUID(), handler: HANDLER },
    ...{ state: 'done', reason: null, starts: 1, lost: 0 },
    ...{ attempts: [], settledAt: new Date() },
    ...members,
  }
}

/** The first claim of a task. The given properties replace the usual ones. */
export function sampleClaim(eventId: string, members: Partial<Claim> = {}): Claim {
  return {
    ...{ _id: new ObjectId(), provider: 'acme', eventId, handler: HANDLER, claim: `claim of ${eventId}` },
    ...{ endsAt: 30_000, starts: 1, lost: 0, failures: 0, waited: 0, waitedFor: null, record: {} },
    ...members,
  }
}
