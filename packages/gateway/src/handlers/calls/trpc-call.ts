import { unavailable } from '@oncehook/kernel/error-codes'
import { readCapped } from '@oncehook/kernel/read-capped'
import { type CallFetch, withServiceToken } from '@oncehook/kernel/service-fetch'
import type { ServiceTokens } from '@oncehook/kernel/service-token'
import { z } from 'zod'
import type { TaskEvent } from '../events/task-event.ts'
import type { CallHandler, TaskAnswer } from './call-handler.ts'

/** Where a handler is, and what its calls need. */
export interface TrpcCallDeps {
  readonly handler: string
  /** Where its tRPC router is mounted. */
  readonly url: URL
  /** Issues tokens for this handler. */
  readonly tokens: ServiceTokens
  readonly fetch: CallFetch
  /** The longest time of a call, in milliseconds. */
  readonly timeoutMs: number
}

const result = z.union([
  z.object({ done: z.literal(true) }),
  z.object({
    refused: z.string().regex(/^[\w.:-]{1,64}$/),
    retry: z.enum(['now', 'later', 'never']),
  }),
])
const answerSchema = z.object({ result: z.object({ data: z.object({ results: z.array(result) }) }) })

const MOST_BYTES = 1024 * 1024
// The input is invalid, or too large.
const UNREADABLE: ReadonlySet<number> = new Set([400, 413])

/**
 * Creates the calls of a handler with a tRPC router: `events.handle` with a batch of tasks. If the handler cannot read a
 * batch, it gets the halves, until the task that it cannot read is alone.
 */
export function createTrpcCall(deps: TrpcCallDeps): CallHandler {
  const address = new URL('events.handle', deps.url.href.endsWith('/') ? deps.url : `${deps.url.href}/`).href
  const call = withServiceToken(deps.fetch, deps.tokens)
  const handle = async (tasks: readonly TaskEvent[]): Promise<readonly TaskAnswer[]> => {
    const response = await send(deps, { call, address }, tasks)
    if (response.ok) return readResults(response, tasks.length)
    await response.body?.cancel()
    const { status } = response
    if (!UNREADABLE.has(status)) throw unavailable({ reason: 'refused', status })
    if (tasks.length === 1) {
      return [{ refused: 'handler_unreadable', retry: 'later', message: `The handler answered ${status}` }]
    }
    const middle = tasks.length >> 1
    return [...(await handle(tasks.slice(0, middle))), ...(await handle(tasks.slice(middle)))]
  }
  return handle
}

interface Line {
  readonly call: CallFetch
  readonly address: string
}

async function send({ handler, timeoutMs }: TrpcCallDeps, { call, address }: Line, tasks: readonly TaskEvent[]) {
  const events = tasks.map(({ attempt, json }) => `{"attempt":${attempt},${json.slice(1)}`)
  const body = `{"handler":${JSON.stringify(handler)},"events":[${events.join()}]}`
  const signal = AbortSignal.timeout(timeoutMs)
  const headers = { 'content-type': 'application/json' }
  try {
    return await call(address, { method: 'POST', headers, body, redirect: 'manual', signal })
  } catch (cause) {
    throw unavailable({ reason: signal.aborted ? 'timed_out' : 'not_reached' }, { cause })
  }
}

/** @throws unavailable if these are not the results of that many tasks */
async function readResults(response: Response, count: number): Promise<TaskAnswer[]> {
  const results = await read(response)
  if (results?.length !== count) throw unavailable({ reason: 'answer_invalid' })
  return results.map((one) => ('done' in one ? one : { ...one, message: `Refused by the handler: ${one.refused}` }))
}

async function read(response: Response): Promise<z.output<typeof result>[] | null> {
  try {
    const text = await readCapped(response, MOST_BYTES)
    return answerSchema.parse(JSON.parse(text.toString('utf8'))).result.data.results
  } catch {
    return null
  }
}
