import type { Clock } from '@oncehook/kernel/clock'
import { unavailable } from '@oncehook/kernel/error-codes'
import type { CallFetch } from '@oncehook/kernel/service-fetch'
import { signWebhook } from '@oncehook/kernel/sign-webhook'
import type { TaskEvent } from '../events/task-event.ts'
import type { HandlerPlace, SigningKey } from '../settings/read-handlers.ts'
import type { CallHandler, TaskAnswer } from './call-handler.ts'
import { readVerdict } from './read-verdict.ts'

/** Where a handler is, and what its calls need. */
export interface HttpsCallDeps {
  readonly place: Extract<HandlerPlace, { by: 'https' }>
  readonly fetch: CallFetch
  readonly clock: Clock
  /** The longest time of a call, in milliseconds. */
  readonly timeoutMs: number
}

/** Creates the calls of a handler that receives Standard Webhooks: one POST for each task, signed with every valid key. */
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
  try {
    const response = await fetch(place.url.href, { method: 'POST', headers, body, redirect: 'manual', signal })
    await drain(response)
    return readVerdict({ status: response.status, retryAfter: response.headers.get('retry-after') }, clock.now())
  } catch (cause) {
    throw unavailable({ reason: signal.aborted ? 'timed_out' : 'not_reached' }, { cause })
  }
}

function validKeys(keys: readonly SigningKey[], now: number): SigningKey['key'][] {
  return keys.filter(({ notAfter }) => notAfter === null || notAfter > now).map(({ key }) => key)
}

const MOST_DRAINED = 65_536

/** Reads an answer that nobody needs, so that the connection can be used again. A long one ends the connection. */
async function drain({ body }: Response): Promise<void> {
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > MOST_DRAINED) return
  }
}
