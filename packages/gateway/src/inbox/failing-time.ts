import type { Document } from 'mongodb'
import { timeOf } from './record-expressions.ts'

/** For how long a record has failed, as expressions of an update or a projection. */
export interface FailingTime {
  /** Milliseconds since the first failure. */
  readonly failedForMs: Document
  /** Milliseconds for which its order has been unknown. */
  readonly orderUnknownForMs: Document
  /** What a further failure sets: the times from which both count. */
  readonly afterFailure: { readonly firstFailedAt: Document; readonly orderUnknownSince: Document }
  /** The same where the failure is that its order is unknown. */
  readonly afterOrderUnknown: FailingTime['afterFailure']
}

/**
 * Measures how long a record has failed. Of the time between two tries at most `maxGapMs` counts, and never less than
 * nothing: a clock that jumps, or an outage of all gateways, does not end an event. What does not count is left out by
 * moving the times from which it is counted.
 */
export function measureFailing(maxGapMs: number): FailingTime {
  const first = timeOf('firstFailedAt')
  const unknownSince = timeOf('orderUnknownSince')
  const lastTry = { $ifNull: [timeOf('lastError.at'), first] }
  const gap = { $subtract: ['$$NOW', lastTry] }
  const counted = { $max: [0, { $min: [gap, maxGapMs] }] }
  // What was noted before the present run of failures, as before a replay, counts no more.
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
