import { AppError, type RetryClass } from '@oncehook/kernel/http/errors'
import { type Backoff, backoffMs } from '@oncehook/kernel/time/waits'
import type { Claim, SettledClaim } from '../claim/claim.ts'
import type { Settlement } from '../transitions.ts'

/** Limits of retries, in milliseconds. */
export interface RetryLimits extends Backoff {
  readonly maxAgeMs: number
  /**
   * Codes that are the reason themselves when retries end. After waits of this sum for the code alone, they do. Every other code
   * ends as `retries_exhausted`.
   */
  readonly ofCodes: ReadonlyMap<string, number>
}

export interface FailedTry {
  readonly claim: Pick<Claim, 'failures' | 'waited' | 'waitedFor'>
  readonly code: string
  readonly retry: RetryClass
  /** How long to wait, in milliseconds. Default: longer after each failure. */
  readonly waitMs?: number
}

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
  const ofThis = limits.ofCodes.get(code)
  if (ofThis !== undefined && (waited >= limits.maxAgeMs || waitedForThis >= ofThis))
    return { state: 'dead', reason: code }
  if (waited >= limits.maxAgeMs) return { state: 'dead', reason: 'retries_exhausted' }
  const delayMs = waitMs ?? backoffMs(limits, failures, random)
  return { state: 'pending', delayMs, waited: waited + delayMs, waitedFor: { code, ms: waitedForThis + delayMs } }
}

export interface Refusal {
  readonly refused: string
  readonly retry: RetryClass
  /** A sentence without values of the sender. A handler may have added one. */
  readonly message: string
  readonly afterMs?: number
}

export interface Retries {
  readonly limits: RetryLimits
  readonly random: () => number
}

export function settleDone(claim: Claim, outcome: { kind: string; version: number | null }, ms: number): SettledClaim {
  const attempt = { ms, outcome: outcome.kind, code: null, message: null }
  return { claim, settlement: { state: 'done', outcome }, attempt }
}

export function settleUnhandled(claim: Claim, reason: string, ms: number): SettledClaim {
  const attempt = { ms, outcome: 'unhandled', code: null, message: null }
  return { claim, settlement: { state: 'unhandled', reason }, attempt }
}

export function settleRefused(retries: Retries, claim: Claim, refusal: Refusal, ms: number): SettledClaim {
  const { refused: code, retry, message } = refusal
  const waitMs = waitOf(refusal, claim, retries)
  const tried = { claim, code, retry, ...(waitMs === undefined ? {} : { waitMs }) }
  const settlement = decideRetry(tried, retries.limits, retries.random)
  const outcome = settlement.state === 'dead' ? 'dead' : 'deferred'
  return { claim, settlement, attempt: { ms, outcome, code, message } }
}

/** The result of a task whose call got no answer. `broke`: see `Settlement`. */
export function putOff({ claim, settlement, attempt }: SettledClaim, broke: Date | false | undefined): SettledClaim {
  if (settlement.state !== 'pending' || broke === undefined) return { claim, settlement, attempt }
  return { claim, settlement: { ...settlement, broke }, attempt }
}

// The least wait that a handler can choose. At first it lets a conflict be tried again almost at once.
const LEAST = { baseMs: 100, capMs: 60_000 }
// The tasks that a handler sent away at the same time do not all come back at the same time.
const SPREAD = 0.1
const LEAST_SPREAD_MS = 1_000

/** How long to wait because of what the handler asked for. Undefined if it asked for nothing. */
function waitOf({ retry, afterMs }: Refusal, { failures }: Claim, { limits, random }: Retries): number | undefined {
  if (retry !== 'now' && afterMs === undefined) return undefined
  const asked = retry === 'now' || afterMs === undefined ? 0 : spread(afterMs, random)
  // It grows with each failure: otherwise a handler that always asks to be called at once would be, for days.
  const least = backoffMs(LEAST, failures, () => (1 + random()) / 2)
  // A later due time than any that is ever set counts as past.
  return Math.min(Math.max(asked, least), limits.capMs)
}

/** A time that a handler asked for, and a little more: at least half a second, so that 0 does not mean at once. */
function spread(ms: number, random: () => number): number {
  return Math.floor(ms + (0.5 + random() / 2) * Math.max(LEAST_SPREAD_MS, ms * SPREAD))
}

// The errors of a connection whose other side disappeared in the middle: from Node, from undici, and from a proxy in
// between.
const BROKEN = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
const BAD_GATEWAY = 502
const DEEPEST = 8

/** Whether a call broke after it was sent: the other side disappeared, or gave no answer in time. */
export function isBrokenCall(thrown: unknown): boolean {
  if (thrown instanceof AppError && (thrown.details.status === BAD_GATEWAY || thrown.details.reason === 'timed_out')) {
    return true
  }
  let error = thrown
  for (let depth = 0; error instanceof Error && depth < DEEPEST; depth += 1) {
    if (error.name === 'TimeoutError' || ('code' in error && BROKEN.has(String(error.code)))) return true
    error = error.cause
  }
  return false
}
