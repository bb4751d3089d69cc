import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { parseJson } from '@oncehook/kernel/http/json'
import { type CallFetch, type ServiceTokens, withServiceToken } from '@oncehook/kernel/secrets/service-token'
import { isBrokenCall } from '@oncehook/queue/dispatch/retry-policy'
import { z } from 'zod'
import type { CallHandler, TaskAnswer, TaskEvent, TaskRefusal } from './task-event.ts'

interface TrpcCallDeps {
  readonly handler: string
  /** Where its tRPC router is mounted. */
  readonly url: URL
  readonly tokens: ServiceTokens
  readonly fetch: CallFetch
  readonly timeoutMs: number
  readonly now: () => number
}

// Every call in progress may hold an answer.
const MOST_BYTES = 1024 * 1024
const FIXED_BYTES = 64 * 1024
const BYTES_OF_RESULT = 4 * 1024

/**
 * Creates the calls of a handler with a tRPC router: `events.handle` with a batch of tasks. If the handler cannot read a
 * batch, or fails on it, it gets the halves, until the task at fault is alone. That takes twice the time of a call at most.
 */
export function createTrpcCall(deps: TrpcCallDeps): CallHandler {
  const address = new URL('events.handle', deps.url.href.endsWith('/') ? deps.url : `${deps.url.href}/`).href
  const call = withServiceToken(deps.fetch, deps.tokens)
  return (tasks) => new Halving(deps, { call, address }).ask(tasks)
}

interface Line {
  readonly call: CallFetch
  readonly address: string
}

/** A batch that has to be halved takes this many times the time of a call at most. */
export const MOST_TIMES = 2
// Enough to find every task of a batch of the default size.
const MOST_CALLS = 100

class Halving {
  readonly #deps: TrpcCallDeps
  readonly #line: Line
  readonly #endsAt: number
  #calls = 0
  /** The answer for the tasks that are left, once nothing more is sent. */
  #rest: TaskRefusal | null = null

  constructor(deps: TrpcCallDeps, line: Line) {
    this.#deps = deps
    this.#line = line
    this.#endsAt = deps.now() + MOST_TIMES * deps.timeoutMs
  }

  /** @throws unavailable if nothing is known about any of the tasks */
  async ask(tasks: readonly TaskEvent[]): Promise<readonly TaskAnswer[]> {
    this.#calls += 1
    const answer = await send(this.#deps, this.#line, { tasks, withinMs: this.#timeLeft })
    if ('results' in answer) return answer.results
    if (tasks.length === 1) return [answer]
    const middle = tasks.length >> 1
    return [...(await this.#askHalf(tasks.slice(0, middle))), ...(await this.#askHalf(tasks.slice(middle)))]
  }

  /** The answers of half a batch. A call that fails does not take away those that the other half has. */
  async #askHalf(half: readonly TaskEvent[]): Promise<readonly TaskAnswer[]> {
    if (this.#isOver) this.#rest ??= TOO_LONG
    const rest = this.#rest
    if (rest !== null) return half.map(() => rest)
    try {
      return await this.ask(half)
    } catch (error) {
      if (!unavailable.is(error)) throw error
      const unanswered = { refused: error.code, retry: 'later', isBusy: true, broke: isBrokenCall(error) } as const
      const lost = this.#isOver ? TOO_LONG : { ...unanswered, message: NO_ANSWER }
      this.#rest = lost
      return half.map(() => lost)
    }
  }

  get #timeLeft(): number {
    return Math.min(this.#deps.timeoutMs, this.#endsAt - this.#deps.now())
  }

  get #isOver(): boolean {
    return this.#timeLeft < 1 || this.#calls >= MOST_CALLS
  }
}

const NO_ANSWER = 'The handler gave no answer'
const TOO_LONG: TaskRefusal = {
  refused: 'handler_unreadable',
  retry: 'later',
  message: 'There was no time left to find the events of the batch at which the handler fails',
}

type Answer = { readonly results: readonly TaskAnswer[] } | TaskRefusal

/** @throws unavailable if the handler was not reached, or if its answer says nothing about the tasks */
async function send(
  { handler }: TrpcCallDeps,
  { call, address }: Line,
  { tasks, withinMs }: { readonly tasks: readonly TaskEvent[]; readonly withinMs: number },
): Promise<Answer> {
  const events = tasks.map(({ attempt, json }) => `{"attempt":${attempt},${json.slice(1)}`)
  const body = `{"handler":${JSON.stringify(handler)},"events":[${events.join()}]}`
  const signal = AbortSignal.timeout(Math.ceil(withinMs))
  const headers = { 'content-type': 'application/json' }
  let response: Response
  let text: string | null
  try {
    response = await call(address, { method: 'POST', headers, body, redirect: 'manual', signal })
    text = response.ok ? await readText(response, tasks.length) : null
    if (!response.ok) await response.body?.cancel().catch(() => undefined)
  } catch (cause) {
    throw unavailable({ reason: signal.aborted ? 'timed_out' : 'not_reached' }, { cause })
  }
  if (!response.ok) return refusalOf(response.status)
  return readResults(text, tasks.length) ?? { ...FAILED, message: 'The handler gave no valid answer' }
}

// The input is invalid, or too large.
const UNREADABLE: ReadonlySet<number> = new Set([400, 413])
// From a load balancer or a server that is overloaded. They say nothing about the tasks.
const AWAY: ReadonlySet<number> = new Set([502, 503, 504])
const FAILED = { refused: 'handler_failed', retry: 'later' } as const

/** @throws unavailable if the status says nothing about the tasks */
function refusalOf(status: number): TaskRefusal {
  const message = `The handler answered ${status}`
  if (UNREADABLE.has(status)) return { refused: 'handler_unreadable', retry: 'later', message }
  if (status >= 500 && !AWAY.has(status)) return { ...FAILED, message }
  throw unavailable({ reason: 'refused', status })
}

/** The text of an answer. Null if it is too long for the results of `count` tasks. */
async function readText(response: Response, count: number): Promise<string | null> {
  try {
    const most = Math.min(FIXED_BYTES + count * BYTES_OF_RESULT, MOST_BYTES)
    return (await readCapped(response, most)).toString('utf8')
  } catch (error) {
    if (unavailable.is(error)) return null
    throw error
  }
}

/** Null if these are not the results of that many tasks. */
function readResults(text: string | null, count: number): { readonly results: readonly TaskAnswer[] } | null {
  const results = text === null ? null : readTaskResults(text, count)
  return results && { results: results.map(toTaskAnswer) }
}

// It is stored with each attempt. No other text of a handler is: by https, only its status counts.
const MOST_CHARACTERS = 200

function toTaskAnswer(result: TaskResult): TaskAnswer {
  if ('done' in result) return result
  const { refused, retry, message = '', retryAfter } = result
  const reason = message
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MOST_CHARACTERS)
  const said = reason === '' ? '' : ` (${reason})`
  const wait = retryAfter === undefined ? {} : { afterMs: retryAfter * 1_000 }
  return { refused, retry, message: `Refused by the handler: ${refused}${said}`, ...wait }
}

const taskResultSchema = z.union([
  z.object({ done: z.literal(true) }),
  z.object({
    refused: z.string().regex(/^[\w.:-]{1,64}$/),
    retry: z.enum(['now', 'later', 'never']),
    // A handler from before these properties may have others of these names: they must not make its answer invalid.
    message: z.string().optional().catch(undefined),
    retryAfter: z.int().min(0).optional().catch(undefined),
  }),
])

/** What `events.handle` of a handler answers: one result for each event, in their order. Other properties are ignored. */
export const taskResultsSchema = z.object({ results: z.array(taskResultSchema) })

type TaskResult = z.output<typeof taskResultSchema>

const envelopeSchema = z.object({ result: z.object({ data: z.object({ results: z.unknown() }) }) })

/**
 * Reads an answer of tRPC. Null if it is not one result for each of `count` tasks. The results are counted before their form is
 * checked, and the first that is wrong ends the check: a list of wrong results may take seconds, in which nothing else runs.
 */
function readTaskResults(text: string, count: number): readonly TaskResult[] | null {
  const listed = envelopeSchema.safeParse(parseJson(text)).data?.result.data.results
  if (!Array.isArray(listed) || listed.length !== count) return null
  const results: TaskResult[] = []
  for (const item of listed) {
    const { data } = taskResultSchema.safeParse(item)
    if (data === undefined) return null
    results.push(data)
  }
  return results
}
