import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/database-clock'
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
 * no gateway could send it, see `resumedAt`. So a clock jump, a pause, or an outage of all gateways does not make an event dead. To
 * leave out time that does not count, the start times are moved.
 */
export function measureFailing(maxDelayMs: number): FailingTime {
  const maxGapMs = maxDelayMs + CLOCK_STEP_MS
  const first = timeOf('firstFailedAt')
  const unknownSince = timeOf('orderUnknownSince')
  const lastTry = { $ifNull: [timeOf('lastError.at'), first] }
  const gap = { $subtract: ['$$NOW', lastTry] }
  // A later time than now comes from a clock that was ahead.
  const resumed = { $cond: [{ $lte: [timeOf('resumedAt'), '$$NOW'] }, timeOf('resumedAt'), null] }
  const sincePause = { $subtract: ['$$NOW', { $max: [lastTry, resumed] }] }
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
const isHeld = { $eq: ['$state', 'processing'] }
// From when a gateway could have sent it. One that holds it may have died at once.
const sendableFrom = { $cond: [isHeld, timeOf('claimedAt'), timeOf('dueAt')] }
const counted = { $subtract: [sendableFrom, { $max: [timeOf('lastError.at'), timeOf('resumedAt')] }] }

/**
 * The `resumedAt` of a record that is claimed now: from then on its time counts. It changes if the record has failed before, and
 * could have been sent before this process could send: no gateway ran, or its handler was paused. The time until then counts,
 * and the time after it does not. After a pause of its provider, nothing counts. `activeForMs`: for how long this process can
 * have sent it. A process that only has too much to do leaves out nothing.
 */
export function resumedAt(activeForMs: number): Document {
  const activeFrom = { $subtract: ['$$NOW', Math.floor(activeForMs)] }
  const wasLeftAlone = { $and: [{ $gt: [sendableFrom, null] }, { $lt: [sendableFrom, activeFrom] }] }
  const resumed = { $subtract: ['$$NOW', { $max: [0, counted] }] }
  const changed = { $cond: [wasProviderPaused, '$$NOW', { $cond: [wasLeftAlone, resumed, '$resumedAt'] }] }
  return { $cond: [hasFailed, changed, '$resumedAt'] }
}
