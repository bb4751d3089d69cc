import type { TaskAnswer } from './call-handler.ts'

/** The answer to a call by HTTPS, as far as it decides about the task. */
export interface HttpAnswer {
  readonly status: number
  readonly retryAfter: string | null
}

const NEVER: ReadonlySet<number> = new Set([410, 422])
// From a server that is overloaded, or a load balancer whose servers are down.
const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504])
const SAYS_BUSY: ReadonlySet<number> = new Set([429, 503])
const WAITS: ReadonlySet<number> = new Set([409, 429, 503])

/**
 * What an answer means: 2xx is done, 410 and 422 are a permanent refusal, and after anything else the task is tried again.
 * 409, 429 and 503 may say when. 429, 502, 503 and 504 say nothing about the task. `now` in milliseconds.
 */
export function readVerdict({ status, retryAfter }: HttpAnswer, now: number): TaskAnswer {
  if (status >= 200 && status < 300) return { done: true }
  const message = `The handler answered ${status}`
  if (NEVER.has(status)) return { refused: 'handler_refused', retry: 'never', message }
  const afterMs = WAITS.has(status) && retryAfter !== null ? readRetryAfter(retryAfter, now) : null
  const refused = SAYS_BUSY.has(status) ? 'handler_busy' : 'handler_failed'
  const refusal = { refused, retry: 'later', message, ...(afterMs === null ? {} : { afterMs }) } as const
  return BUSY.has(status) ? { ...refusal, isBusy: true } : refusal
}

// A sum with the time of today is still an exact number. The gateway waits for less.
const MOST_SECONDS = 1_000_000_000

/** Seconds or a date (RFC 9110 section 10.2.3), as milliseconds from now. Null for any other text. */
export function readRetryAfter(text: string, now: number): number | null {
  const trimmed = text.trim()
  if (/^\d+$/.test(trimmed)) return Math.min(Number(trimmed), MOST_SECONDS) * 1_000
  // Date.parse accepts other texts too, such as a number with a sign.
  const at = /^[A-Za-z]{3,9},? /.test(trimmed) ? Date.parse(trimmed) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}
