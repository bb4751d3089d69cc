import { unavailable } from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { type CallFetch, type ServiceTokens, withServiceToken } from '@oncehook/kernel/secrets/service-token'
import { z } from 'zod'
import { type BatchAnswer, batchBody, FAILED, Halving, readResults } from './batch-call.ts'
import type { CallHandler, TaskEvent, TaskRefusal } from './task-event.ts'

interface TrpcCallDeps {
  readonly handler: string
  /** Where its tRPC router is mounted. */
  readonly url: URL
  readonly tokens: ServiceTokens
  readonly fetch: CallFetch
  readonly timeoutMs: number
  readonly now: () => number
}

/** Creates the calls of a handler with a tRPC router: `events.handle` with a batch of tasks. */
export function createTrpcCall({ handler, url, tokens, fetch, timeoutMs, now }: TrpcCallDeps): CallHandler {
  const address = new URL('events.handle', url.href.endsWith('/') ? url : `${url.href}/`).href
  const call = withServiceToken(fetch, tokens)
  const send = (tasks: readonly TaskEvent[], withinMs: number): Promise<BatchAnswer> =>
    post(call, { address, body: batchBody(handler, tasks), count: tasks.length, withinMs })
  return (tasks) => new Halving({ timeoutMs, now, send }).ask(tasks)
}

interface Posted {
  readonly address: string
  readonly body: string
  readonly count: number
  readonly withinMs: number
}

/** @throws unavailable if the handler was not reached, or if its answer says nothing about the tasks */
async function post(call: CallFetch, { address, body, count, withinMs }: Posted): Promise<BatchAnswer> {
  const signal = AbortSignal.timeout(Math.ceil(withinMs))
  const headers = { 'content-type': 'application/json' }
  try {
    const response = await call(address, { method: 'POST', headers, body, redirect: 'manual', signal })
    if (response.ok) return await readResults(response, count, listIn)
    await response.body?.cancel().catch(() => undefined)
    return refusalOf(response.status)
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw unavailable({ reason: signal.aborted ? 'timed_out' : 'not_reached' }, { cause })
  }
}

// The input is invalid, or too large.
const UNREADABLE: ReadonlySet<number> = new Set([400, 413])
// From a load balancer or a server that is overloaded. They say nothing about the tasks.
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])

/** @throws unavailable if the status says nothing about the tasks */
function refusalOf(status: number): TaskRefusal {
  const message = `The handler answered ${status}`
  if (UNREADABLE.has(status)) return { refused: 'handler_unreadable', retry: 'later', message }
  if (status >= 500 && !AWAY.has(status)) return { ...FAILED, message }
  throw unavailable({ reason: 'refused', status })
}

const envelopeSchema = z.object({ result: z.object({ data: z.object({ results: z.unknown() }) }) })

function listIn(answer: unknown): unknown {
  return envelopeSchema.safeParse(answer).data?.result.data.results
}
