import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/clock-step'
import type { Document } from 'mongodb'
import { FIRST_PAUSED_DUE_AT } from '../pauses/paused-due-at.ts'
import { timeOf } from '../record-expressions.ts'

/** How long a record has been failing, as expressions for an update or a projection. */
export interface FailingTime {
  /** Milliseconds since the first failure. */
  readonly failedForMs: Document
  /** Milliseconds for which its order has been unknown. */
  readonly orderUnknownForMs: Document
  /** The fields that another failure sets: the times from which both count. */
  readonly afterFailure: { readonly firstFailedAt: Document; readonly orderUnknownSince: Document }
  /** The same, if the order is unknown. */
  readonly afterOrderUnknown: FailingTime['afterFailure']
}

/**
 * Measures how long a record has been failing. `maxDelayMs` is the longest delay between two attempts. More than that
 * does not count, except for a small step of the clock, and never less than zero. Nor does the time for which it was due and
 * nobody might send it, see `RESUMED_AT`. So a clock jump, a pause, or an outage of all gateways does not make an event dead. To
 * leave out time that does not count, the start times are moved.
 */
export function measureFailing(maxDelayMs: number): FailingTime {
  const maxGapMs = maxDelayMs + CLOCK_STEP_MS
  const first = timeOf('firstFailedAt')
  const unknownSince = timeOf('orderUnknownSince')
  const lastTry = { $ifNull: [timeOf('lastError.at'), first] }
  const gap = { $subtract: ['$$NOW', lastTry] }
  const sincePause = { $subtract: ['$$NOW', { $max: [lastTry, timeOf('resumedAt')] }] }
  const counted = { $max: [0, { $min: [sincePause, maxGapMs] }] }
  // A time from before the present run of failures, such as before a replay, no longer counts.
  const isPresent = { $and: [{ $gt: [first, null] }, { $gte: [unknownSince, first] }] }
  const msFrom = (start: Document): Document => ({ $add: [{ $max: [0, { $subtract: [lastTry, start] }] }, counted] })
  const moved = (start: Document): Document => ({ $add: [start, { $subtract: [gap, counted] }] })
  const firstFailedAt = { $ifNull: [moved(first), '$$NOW'] }
  return {
    failedForMs: { $cond: [{ $gt: [first, null] }, msFrom(first), 0] },
    orderUnknownForMs: { $cond: [isPresent, msFrom(unknownSince), 0] },
    afterFailure: {
      firstFailedAt,
      orderUnknownSince: { $cond: [isPresent, moved(unknownSince), '$orderUnknownSince'] },
    },
    afterOrderUnknown: {
      firstFailedAt,
      orderUnknownSince: { $cond: [isPresent, moved(unknownSince), '$$NOW'] },
    },
  }
}

const hasFailed = { $gt: [timeOf('firstFailedAt'), null] }
const wasProviderPaused = { $gte: ['$dueAt', FIRST_PAUSED_DUE_AT] }

// A gateway that may send a failed record claims it sooner.
const LATE_MS = 2_000
const dueAt = timeOf('dueAt')
const wasLeftAlone = { $and: [{ $gt: [dueAt, null] }, { $gt: [{ $subtract: ['$$NOW', dueAt] }, LATE_MS] }] }
const planned = { $max: [0, { $subtract: [dueAt, { $ifNull: [timeOf('lastError.at'), dueAt] }] }] }
const resumedAt = {
  $cond: [wasProviderPaused, '$$NOW', { $cond: [wasLeftAlone, { $subtract: ['$$NOW', planned] }, '$resumedAt'] }],
}

/**
 * The `resumedAt` of a record that is claimed now: from then on its time counts. It is set if the record has failed before, and
 * then waited for a reason of ours: a pause of its provider or handler, or an outage of all gateways. Of the time since
 * its last attempt, the delay that was planned still counts, except after a pause of its provider, which replaces it.
 */
export const RESUMED_AT: Document = { $cond: [hasFailed, resumedAt, '$resumedAt'] }
