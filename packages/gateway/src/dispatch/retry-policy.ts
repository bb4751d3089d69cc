import type { RetryClass } from '@oncehook/kernel/http/errors'
import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import { ORDER_UNKNOWN, type Settlement } from '../inbox/claims/claim.ts'

/** Limits of the gateway's retries, in milliseconds. */
export interface RetryLimits extends Backoff {
  /** After this time, a failing dependency makes the event dead. */
  readonly maxAgeMs: number
  /** After this time, an event is dead if its order does not exist. */
  readonly orderUnknownMs: number
  /** An event is dead after this many counted faults, but not before `internalMs`. */
  readonly maxInternalErrors: number
  /** How long an event must have failed before such a fault makes it dead. */
  readonly internalMs: number
}

/** What went wrong in an attempt, and what happened before it. */
export interface FailedTry {
  readonly code: string
  readonly retry: RetryClass
  readonly failures: number
  readonly failedForMs: number
  /** How long the order has been unknown. An outage before that does not count. */
  readonly orderUnknownForMs: number
  /** Consecutive faults that were counted before. */
  readonly internalErrors: number
  /** Whether fulfilment had an internal error with the event, or could not read it. Then each attempt counts. */
  readonly isFault: boolean
  /** Whether fulfilment has just shown that other events work. Only then is the fault specific to this event. */
  readonly othersWork: boolean
}

/**
 * Decides what happens to an event after a failed attempt. `never` makes it dead at once, with the code as its reason.
 * The others wait with full jitter. Their limit is the age and not the number of attempts, so that an outage uses up
 * nothing.
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

/** Fulfilment's refusal of an event because of an internal error, with this order or with all of them. */
export const INTERNAL = 'internal'
