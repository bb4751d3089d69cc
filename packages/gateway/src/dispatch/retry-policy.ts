import type { RetryClass } from '@oncehook/kernel/http/errors'
import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import { type Claim, ORDER_UNKNOWN, type Settlement } from '../inbox/claims/claim.ts'

/** Limits of the gateway's retries, in milliseconds. */
export interface RetryLimits extends Backoff {
  /** After waits of this sum, a failing task is dead. */
  readonly maxAgeMs: number
  /** After waits of this sum for an order that does not exist, it is dead. */
  readonly orderUnknownMs: number
}

/** What went wrong in an attempt. */
export interface FailedTry {
  readonly claim: Pick<Claim, 'failures' | 'waited' | 'waitedFor'>
  readonly code: string
  readonly retry: RetryClass
  /** How long to wait, in milliseconds. Default: longer after each failure. */
  readonly waitMs?: number
}

/** Fulfilment's refusal of an event because of an internal error with it. */
export const INTERNAL = 'internal'

/**
 * Decides what happens to a task after a failed attempt. `never` makes it dead at once, with the code as its reason. The others
 * wait with full jitter. Their limit is the sum of the waits that were set after attempts: so a pause, a stop, an open breaker or a
 * clock that jumps uses up nothing.
 */
export function decideRetry(
  { claim, code, retry, waitMs }: FailedTry,
  limits: RetryLimits,
  random: () => number,
): Settlement {
  if (retry === 'never') return { state: 'dead', reason: code }
  const { failures, waited, waitedFor } = claim
  const waitedForThis = waitedFor?.code === code ? waitedFor.ms : 0
  const isUnknown = code === ORDER_UNKNOWN
  if (isUnknown && waitedForThis >= limits.orderUnknownMs) return { state: 'dead', reason: ORDER_UNKNOWN }
  if (waited >= limits.maxAgeMs) {
    return { state: 'dead', reason: isUnknown || code === INTERNAL ? code : 'retries_exhausted' }
  }
  const delayMs = waitMs ?? backoffMs(limits, failures, random)
  return { state: 'pending', delayMs, waited: waited + delayMs, waitedFor: { code, ms: waitedForThis + delayMs } }
}
