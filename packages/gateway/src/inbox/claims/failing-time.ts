import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/clock-step'
import type { Document } from 'mongodb'
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
 * does not count, except for a small step of the clock, and never less than zero. Nor does the time from the last attempt
 * to the end of a pause. So a clock jump, a pause, or an outage of all gateways does not make an event dead. To leave out time that does not count, the start times are moved.
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
