import { hash } from 'node:crypto'
import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { AppError } from '@oncehook/kernel/http/errors'
import { isObject } from '@oncehook/kernel/http/json'
import type { CallFetch } from '@oncehook/kernel/secrets/service-token'
import { signWebhook } from '@oncehook/kernel/secrets/sign-webhook'
import type { Clock } from '@oncehook/kernel/time/clock'
import { withTimeout } from '@oncehook/kernel/time/waits'
import { type BatchAnswer, batchBody, Halving, readResults } from './batch-call.ts'
import { isPrivateAddress } from './guarded-fetch.ts'
import type { HandlerPlace, SigningKey } from './handler-settings.ts'
import type { CallHandler, TaskAnswer, TaskEvent } from './task-event.ts'

const MOST_DRAINED = 65_536
const DRAIN_MS = 1_000

interface HttpsCallDeps {
  readonly handler: string
  readonly place: Extract<HandlerPlace, { by: 'https' }>
  readonly isBatched: boolean
  readonly fetch: CallFetch
  readonly clock: Clock
  readonly timeoutMs: number
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/**
 * Creates the calls of a handler that receives Standard Webhooks, signed with every valid key: one POST for each task, whose status
 * decides, whatever becomes of the body; or, if the handler takes batches, one for all of them, whose body has a verdict on each.
 */
export function createHttpsCall(deps: HttpsCallDeps): CallHandler {
  if (!deps.isBatched) return (tasks) => Promise.all(tasks.map((task) => postOne(deps, task)))
  const send = (tasks: readonly TaskEvent[], withinMs: number): Promise<BatchAnswer> => postBatch(deps, tasks, withinMs)
  return (tasks) => new Halving({ ...deps, send }).ask(tasks)
}

async function postOne(deps: HttpsCallDeps, { key: id, attempt, json: body }: TaskEvent): Promise<TaskAnswer> {
  const { response, over } = await post(deps, { id, body, attempt, withinMs: deps.timeoutMs })
  const verdict = verdictOf(response, deps.clock.now())
  // What nobody needs is read, so that the connection can be used again. A body that is long, slow or broken only ends the connection.
  await withTimeout(
    readCapped(response, MOST_DRAINED).catch(() => undefined),
    DRAIN_MS,
  )
  // Otherwise an answer without an end keeps its connection, beside those of the next calls.
  over.abort()
  return verdict
}

// Of a batch, a status is no final word about each of its events.
const HALVED: ReadonlySet<number> = new Set([400, 410, 413, 422])

async function postBatch(deps: HttpsCallDeps, tasks: readonly TaskEvent[], withinMs: number): Promise<BatchAnswer> {
  const id = `batch_${hash('sha256', tasks.map(({ key }) => key).join('\n'))}`
  const { response, signal, over } = await post(deps, { id, body: batchBody(deps.handler, tasks), withinMs })
  const { status } = response
  const verdict = verdictOf(response, deps.clock.now())
  try {
    if ('done' in verdict)
      return await readResults(response, tasks.length, (answer) => (isObject(answer) ? answer.results : null))
  } catch (cause) {
    throw notReached(signal, cause)
  } finally {
    over.abort()
  }
  const isHalved = HALVED.has(status) || (status >= 500 && verdict.isBusy !== true)
  return isHalved ? verdict : { results: tasks.map(() => verdict) }
}

interface Message {
  readonly id: string
  readonly body: string
  /** Of a batch, it stands with each event. */
  readonly attempt?: number
  readonly withinMs: number
}

/** @throws unavailable if no answer begins in time, or every secret has expired */
async function post({ place, fetch, clock }: HttpsCallDeps, { id, body, attempt, withinMs }: Message) {
  const now = clock.now()
  const keys = validKeys(place.keys, now)
  if (keys.length === 0) throw unavailable({ reason: 'secrets_expired' })
  const headers = {
    ...signWebhook({ id, now, body }, keys),
    ...{ 'content-type': 'application/json', 'user-agent': 'oncehook' },
    ...(attempt === undefined ? {} : { 'oncehook-attempt': String(attempt) }),
  }
  const over = new AbortController()
  const signal = AbortSignal.any([AbortSignal.timeout(Math.ceil(withinMs)), over.signal])
  try {
    const response = await fetch(place.url.href, { method: 'POST', headers, body, redirect: 'manual', signal })
    return { response, signal, over }
  } catch (cause) {
    throw notReached(signal, cause)
  }
}

function notReached({ aborted }: AbortSignal, cause: unknown): AppError {
  const reason = isPrivateAddress(cause) ? 'private_address' : 'not_reached'
  return unavailable({ reason: aborted ? 'timed_out' : reason }, { cause })
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
function verdictOf({ status, headers }: Response, now: number): TaskAnswer {
  if (status >= 200 && status < 300) return { done: true }
  const message = `The handler answered ${status}`
  if (NEVER.has(status)) return { refused: 'handler_refused', retry: 'never', message }
  const retryAfter = headers.get('retry-after')
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
