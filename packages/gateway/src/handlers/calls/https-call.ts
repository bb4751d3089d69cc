import { unavailable } from '@oncehook/kernel/http/error-codes'
import type { CallFetch } from '@oncehook/kernel/secrets/service-token'
import { signWebhook } from '@oncehook/kernel/secrets/sign-webhook'
import type { Clock } from '@oncehook/kernel/time/clock'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { TaskEvent } from '../events/task-event.ts'
import type { HandlerPlace, SigningKey } from '../settings/read-handlers.ts'
import type { CallHandler, TaskAnswer } from './call-handler.ts'
import { isPrivateAddress } from './guarded-fetch.ts'
import { readVerdict } from './read-verdict.ts'

/** Where a handler is, and what its calls need. */
export interface HttpsCallDeps {
  readonly place: Extract<HandlerPlace, { by: 'https' }>
  readonly fetch: CallFetch
  readonly clock: Clock
  /** The longest time of a call, in milliseconds. */
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
  const signal = AbortSignal.timeout(timeoutMs)
  let response: Response
  try {
    response = await fetch(place.url.href, { method: 'POST', headers, body, redirect: 'manual', signal })
  } catch (cause) {
    throw unavailable({ reason: signal.aborted ? 'timed_out' : reasonOf(cause) }, { cause })
  }
  const answer = { status: response.status, retryAfter: response.headers.get('retry-after') }
  const verdict = readVerdict(answer, clock.now())
  await drain(response)
  return verdict
}

function reasonOf(cause: unknown): string {
  return isPrivateAddress(cause) ? 'private_address' : 'not_reached'
}

function validKeys(keys: readonly SigningKey[], now: number): SigningKey['key'][] {
  return keys.filter(({ notAfter }) => notAfter === null || notAfter > now).map(({ key }) => key)
}

const MOST_DRAINED = 65_536
const DRAIN_MS = 1_000

/**
 * Reads what nobody needs, so that the connection can be used again. A body that is long, slow or broken only ends the
 * connection: the status has said what the answer means. The signal of the call ends this, too.
 */
async function drain({ body }: Response): Promise<void> {
  if (body === null) return
  const reader = body.getReader()
  await withTimeout(
    readMost(reader).catch(() => undefined),
    DRAIN_MS,
  )
  void reader.cancel().catch(() => undefined)
}

async function readMost(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  for (let size = 0; size <= MOST_DRAINED; ) {
    const { done, value } = await reader.read()
    if (done) return
    size += value.byteLength
  }
}
