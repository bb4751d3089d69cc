import { type Backoff, backoffMs } from '@oncehook/kernel/backoff'
import type { RetryClass } from '@oncehook/kernel/errors'
import { ORDER_UNKNOWN, type Settlement } from '../inbox/claims.ts'

/** Bounds of our own retries, in milliseconds. */
export interface RetryLimits extends Backoff {
  /** After this long a failing dependency makes the event dead. */
  readonly maxAgeMs: number
  /** After this long an event for an order that nobody has made is dead. */
  readonly orderUnknownMs: number
  /** After so many refusals in a row for a fault of its own with an event, the event is dead. */
  readonly maxInternalErrors: number
}

/** What went wrong with a try, and what went before it. */
export interface FailedTry {
  readonly code: string
  readonly retry: RetryClass
  readonly failures: number
  readonly failedForMs: number
  /** For how long the order has been unknown: an outage before that does not count. */
  readonly orderUnknownForMs: number
  readonly internalErrors: number
}

/**
 * Decides what becomes of an event after a failed try: `never` is dead at once with the code as its reason; the others
 * wait with full jitter, bounded by age and not by the number of tries, so that an outage uses up nothing.
 */
export function decideRetry(tried: FailedTry, limits: RetryLimits, random: () => number): Settlement {
  if (tried.retry === 'never') return { state: 'dead', reason: tried.code }
  const internalErrors = tried.code === INTERNAL ? tried.internalErrors + 1 : 0
  if (internalErrors >= limits.maxInternalErrors) return { state: 'dead', reason: INTERNAL }
  const orderUnknown = tried.code === ORDER_UNKNOWN
  if (orderUnknown && tried.orderUnknownForMs >= limits.orderUnknownMs) return { state: 'dead', reason: ORDER_UNKNOWN }
  if (tried.failedForMs >= limits.maxAgeMs) {
    return { state: 'dead', reason: orderUnknown ? ORDER_UNKNOWN : 'retries_exhausted' }
  }
  const delayMs = backoffMs(limits, tried.failures, random)
  return internalErrors > 0 ? { state: 'pending', delayMs, internalErrors } : { state: 'pending', delayMs }
}

/** Fulfilment's refusal of an event that makes its own decision fail: it works otherwise, so this is no outage. */
const INTERNAL = 'internal'
