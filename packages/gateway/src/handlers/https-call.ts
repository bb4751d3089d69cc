import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { CallFetch } from '@oncehook/kernel/secrets/service-token'
import { signWebhook } from '@oncehook/kernel/secrets/sign-webhook'
import type { Clock } from '@oncehook/kernel/time/clock'
import { withTimeout } from '@oncehook/kernel/time/waits'
import { isPrivateAddress } from './guarded-fetch.ts'
import type { HandlerPlace, SigningKey } from './handler-settings.ts'
import type { CallHandler, TaskAnswer, TaskEvent } from './task-event.ts'

const MOST_DRAINED = 65_536
const DRAIN_MS = 1_000

interface HttpsCallDeps {
  readonly place: Extract<HandlerPlace, { by: 'https' }>
  readonly fetch: CallFetch
  readonly clock: Clock
  readonly timeoutMs: number
}

/**
 * Creates the calls of a handler that receives Standard Webhooks: one POST for each task, signed with every valid key. The
 * status decides, whatever becomes of the body.
 */
export function createHttpsCall(deps: HttpsCallDeps): CallHandler {
  return (tasks) => Promise.all(tasks.map((task) => post(deps, task)))
}

async function post({ place, fetch, clock, timeoutMs }: HttpsCallDeps, task: TaskEvent): Promise<TaskAnswer> {
  const now = clock.now()
  const keys = validKeys(place.keys, now)
  if (keys.length === 0) throw unavailable({ reason: 'secrets_expired' })
  const { key: id, attempt, json: body } = task
  const headers = {
    ...signWebhook({ id, now, body }, keys),
    ...{ 'content-type': 'application/json', 'user-agent': 'oncehook', 'oncehook-attempt': String(attempt) },
  }
  const over = new AbortController()
  const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), over.signal])
  let response: Response
  try {
    response = await fetch(place.url.href, { method: 'POST', headers, body, redirect: 'manual', signal })
  } catch (cause) {
    throw unavailable({ reason: signal.aborted ? 'timed_out' : reasonOf(cause) }, { cause })
  }
  const answer = { status: response.status, retryAfter: response.headers.get('retry-after') }
  const verdict = readVerdict(answer, clock.now())
  // What nobody needs is read, so that the connection can be used again. A body that is long, slow or broken only ends the connection.
  await withTimeout(
    readCapped(response, MOST_DRAINED).catch(() => undefined),
    DRAIN_MS,
  )
  // Otherwise an answer without an end keeps its connection, beside those of the next calls.
  over.abort()
  return verdict
}

function reasonOf(cause: unknown): string {
  return isPrivateAddress(cause) ? 'private_address' : 'not_reached'
}

function validKeys(keys: readonly SigningKey[], now: number): SigningKey['key'][] {
  return keys.filter(({ notAfter }) => notAfter === null || notAfter > now).map(({ key }) => key)
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
function readVerdict(
  { status, retryAfter }: { readonly status: number; readonly retryAfter: string | null },
  now: number,
): TaskAnswer {
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
