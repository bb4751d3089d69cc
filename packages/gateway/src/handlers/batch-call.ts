// One call with several tasks, whatever carries it. The handler answers each task at its place: done, or refused. A place without a
// verdict is a retry of that task alone. If the handler cannot read a batch, or fails on it, it gets the halves, until the task at fault is
// alone. That takes twice the time of a call at most.
import { readCapped } from '@oncehook/kernel/http/client'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { parseJson } from '@oncehook/kernel/http/json'
import { isBrokenCall } from '@oncehook/queue/dispatch/retry-policy'
import { z } from 'zod'
import type { TaskAnswer, TaskEvent, TaskRefusal } from './task-event.ts'

/** The answers to the tasks of one call, in their order, or why the batch has to be halved. */
export type BatchAnswer = { readonly results: readonly TaskAnswer[] } | TaskRefusal

interface BatchCall {
  readonly timeoutMs: number
  readonly now: () => number
  /** Makes one call. @throws unavailable if nothing is known about any of the tasks */
  readonly send: (tasks: readonly TaskEvent[], withinMs: number) => Promise<BatchAnswer>
}

/** The body of a call: the same by `https` and by `trpc`, so that one reader serves both. */
export function batchBody(handler: string, tasks: readonly TaskEvent[]): string {
  const events = tasks.map(({ attempt, json }) => `{"attempt":${attempt},${json.slice(1)}`)
  return `{"handler":${JSON.stringify(handler)},"events":[${events.join()}]}`
}

/** A batch that has to be halved takes this many times the time of a call at most. */
export const MOST_TIMES = 2
// Enough to find every task of a batch of the default size.
const MOST_CALLS = 100

export class Halving {
  readonly #call: BatchCall
  readonly #endsAt: number
  #calls = 0
  /** The answer for the tasks that are left, once nothing more is sent. */
  #rest: TaskRefusal | null = null

  constructor(call: BatchCall) {
    this.#call = call
    this.#endsAt = call.now() + MOST_TIMES * call.timeoutMs
  }

  /** @throws unavailable if nothing is known about any of the tasks */
  async ask(tasks: readonly TaskEvent[]): Promise<readonly TaskAnswer[]> {
    this.#calls += 1
    const answer = await this.#call.send(tasks, this.#timeLeft)
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
    return Math.min(this.#call.timeoutMs, this.#endsAt - this.#call.now())
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

// Every call in progress may hold an answer.
const FIXED_BYTES = 64 * 1024
const BYTES_OF_RESULT = 4 * 1024
const MOST_BYTES = 1024 * 1024

export const FAILED = { refused: 'handler_failed', retry: 'later' } as const
const NOT_VALID: TaskRefusal = { ...FAILED, message: 'The answer has no `results` with a verdict on each event' }
const NO_VERDICT: TaskRefusal = { ...FAILED, message: 'The handler gave no verdict on this event' }

/**
 * Reads the `results` of an answer to this many tasks. They are counted before their form is checked: of a list that is shorter or
 * longer, nobody knows which verdict is about which task. `listIn` finds them in the parsed answer. Rejects if the answer breaks off.
 */
export async function readResults(
  response: Response,
  count: number,
  listIn: (answer: unknown) => unknown,
): Promise<BatchAnswer> {
  const text = await readText(response, Math.min(FIXED_BYTES + count * BYTES_OF_RESULT, MOST_BYTES))
  const listed = text === null ? null : listIn(parseJson(text))
  if (!Array.isArray(listed) || listed.length !== count) return NOT_VALID
  const results = listed.map((item) => {
    const { data } = taskResultSchema.safeParse(item)
    return data === undefined ? NO_VERDICT : toTaskAnswer(data)
  })
  return { results }
}

/** Null if it is longer. */
async function readText(response: Response, maxBytes: number): Promise<string | null> {
  try {
    return (await readCapped(response, maxBytes)).toString('utf8')
  } catch (error) {
    if (unavailable.is(error)) return null
    throw error
  }
}

// It is stored with each attempt. No other text of a handler is.
const MOST_CHARACTERS = 200

function toTaskAnswer(result: z.output<typeof taskResultSchema>): TaskAnswer {
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

/** What a handler answers to a batch: one result for each event, in their order. Other properties are ignored. */
export const taskResultsSchema = z.object({ results: z.array(taskResultSchema) })
