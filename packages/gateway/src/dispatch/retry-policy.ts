import { type Backoff, backoffMs } from '@oncehook/kernel/backoff'
import type { RetryClass } from '@oncehook/kernel/errors'
import { ORDER_UNKNOWN, type Settlement } from '../inbox/claims.ts'

/** Bounds of our own retries, in milliseconds. */
export interface RetryLimits extends Backoff {
  /** After this long a failing dependency makes the event dead. */
  readonly maxAgeMs: number
  /** After this long an event for an order that nobody has made is dead. */
  readonly orderUnknownMs: number
  /** An event is dead after this many counted faults, but not before `internalMs`. */
  readonly maxInternalErrors: number
  /** How long an event has failed at least before such a fault ends it. */
  readonly internalMs: number
}

/** What went wrong with a try, and what went before it. */
export interface FailedTry {
  readonly code: string
  readonly retry: RetryClass
  readonly failures: number
  readonly failedForMs: number
  /** For how long the order has been unknown: an outage before that does not count. */
  readonly orderUnknownForMs: number
  /** Faults that were counted before, one after the other. */
  readonly internalErrors: number
  /** Whether fulfilment had a fault of its own with the event, or could not read it: then each try counts. */
  readonly isFault: boolean
  /** Whether fulfilment has just shown that others work: only then is its fault one with this event. */
  readonly othersWork: boolean
}

/**
 * Decides what becomes of an event after a failed try: `never` is dead at once with the code as its reason; the others
 * wait with full jitter, bounded by age and not by the number of tries, so that an outage uses up nothing.
 */
export function decideRetry(tried: FailedTry, limits: RetryLimits, random: () => number): Settlement {
  if (tried.retry === 'never') return { state: 'dead', reason: tried.code }
  const internalErrors = tried.isFault ? tried.internalErrors + Number(tried.othersWork) : 0
  const isOver = internalErrors >= limits.maxInternalErrors && tried.failedForMs >= limits.internalMs
  if (tried.isFault && isOver) return { state: 'dead', reason: tried.code }
  const orderUnknown = tried.code === ORDER_UNKNOWN
  if (orderUnknown && tried.orderUnknownForMs >= limits.orderUnknownMs) return { state: 'dead', reason: ORDER_UNKNOWN }
  if (tried.failedForMs >= limits.maxAgeMs) {
    return { state: 'dead', reason: orderUnknown || tried.isFault ? tried.code : 'retries_exhausted' }
  }
  const delayMs = backoffMs(limits, tried.failures, random)
  return internalErrors > 0 ? { state: 'pending', delayMs, internalErrors } : { state: 'pending', delayMs }
}

/** Fulfilment's refusal of an event because of a fault of its own: with this order, or with all of them. */
export const INTERNAL = 'internal'
