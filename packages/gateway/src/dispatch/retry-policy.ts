import { type Backoff, backoffMs } from '@oncehook/kernel/backoff'
import type { RetryClass } from '@oncehook/kernel/errors'
import { ORDER_UNKNOWN, type Settlement } from '../inbox/claims.ts'

/** Bounds of our own retries, in milliseconds. */
export interface RetryLimits extends Backoff {
  /** After this long a failing dependency makes the event dead. */
  readonly maxAgeMs: number
  /** After this long an event for an order that nobody has made is dead. */
  readonly orderUnknownMs: number
}

/** What went wrong with a try, and what went before it. */
export interface FailedTry {
  readonly code: string
  readonly retry: RetryClass
  readonly failures: number
  readonly failedForMs: number
  /** For how long the order has been unknown: an outage before that does not count. */
  readonly orderUnknownForMs: number
}

/**
 * Decides what becomes of an event after a failed try: `never` is dead at once with the code as its reason; the others
 * wait with full jitter, bounded by age and not by the number of tries, so that an outage uses up nothing.
 */
export function decideRetry(tried: FailedTry, limits: RetryLimits, random: () => number): Settlement {
  if (tried.retry === 'never') return { state: 'dead', reason: tried.code }
  const orderUnknown = tried.code === ORDER_UNKNOWN
  if (orderUnknown && tried.orderUnknownForMs >= limits.orderUnknownMs) return { state: 'dead', reason: ORDER_UNKNOWN }
  if (tried.failedForMs >= limits.maxAgeMs) {
    return { state: 'dead', reason: orderUnknown ? ORDER_UNKNOWN : 'retries_exhausted' }
  }
  return { state: 'pending', delayMs: backoffMs(limits, tried.failures, random) }
}
