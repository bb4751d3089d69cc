import { withTimeout } from '@oncehook/kernel/time/waits'
import type { HandlerEvent } from '../handler-event.ts'
import type { ErrorAnswer } from '../http/answer.ts'
import type { HandlerMetrics } from '../metrics.ts'
import type { ProcessEvent, ProcessTogether } from '../process-event.ts'
import type { RetryAdvice } from '../refusal.ts'

interface BatchParts {
  /** How many events of a batch are acted on at the same time. The others wait in it, and take no place of others. */
  readonly concurrency: number
  readonly metrics: HandlerMetrics
  readonly one: ProcessEvent
  readonly together: ProcessTogether
}

/**
 * Acts on the events of a batch: together as far as that works, and on each of the others separately; one that is not valid is null.
 * Resolves to the answer to each when all are done, or after `answerMs`: what has begun by then continues, and what has not does not
 * begin. Resolves to an error if the handler is unavailable for all of them. Calls `then` when nothing runs any more.
 */
export type ActOnBatch = (
  events: readonly (HandlerEvent | null)[],
  answerMs: number,
  then: () => unknown,
) => Promise<readonly EventAnswer[] | ErrorAnswer>

export type EventAnswer = { readonly done: true } | EventRefusal

/** Why an event is not done. */
interface EventRefusal {
  readonly refused: string
  readonly retry: RetryAdvice
  /** A sentence. Gateways from before this property ignore it. */
  readonly message: string
  /** Seconds after which a retry makes sense. Gateways from before this property ignore it. */
  readonly retryAfter?: number
}

// Five hundred of them fit into the longest answer that the gateway reads.
const MOST_CHARACTERS = 200

/** Refuses one event of a call. The message is cut if it is long. */
function refuseEvent({ error, retry, message, retryAfter }: ErrorAnswer): EventRefusal {
  const wait = retryAfter === undefined ? {} : { retryAfter }
  return { refused: error, retry, message: message.slice(0, MOST_CHARACTERS), ...wait }
}

type Said = Awaited<ReturnType<ProcessEvent>>

export function createActOnBatch(parts: BatchParts): ActOnBatch {
  return async (events, answerMs, then) => {
    const said = await actOnEach(parts, { events, answerMs }, then)
    const [first] = said
    // The gateway then waits with everything that it has for this handler.
    if (first !== undefined && 'error' in first && said.every(isAboutHandler)) return first
    return said.map((one) => ('error' in one ? refuseEvent(one) : { done: true }))
  }
}

// PostgreSQL keeps 64 savepoints of a transaction at hand. With more, they slow down everybody.
const MOST_TOGETHER = 50
// What is left must still have its time. A function that hangs holds up the events beside it for so long.
const MOST_TOGETHER_MS = 1_000
const PARTS_OF_ANSWER = 8

async function actOnEach(
  { concurrency, metrics, one, together }: BatchParts,
  { events, answerMs }: { readonly events: readonly (HandlerEvent | null)[]; readonly answerMs: number },
  then: () => unknown,
): Promise<readonly Said[]> {
  const said = new Map<HandlerEvent, Said>()
  let isOver = false
  const forAll = async <T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> => {
    const queue = items.values()
    const work = async (): Promise<void> => {
      for (const item of queue) if (!isOver) await act(item)
    }
    await Promise.allSettled(Array.from({ length: Math.min(concurrency, items.length) }, work))
  }
  const acting = async (): Promise<void> => {
    const mostMs = Math.ceil(Math.min(MOST_TOGETHER_MS, answerMs / PARTS_OF_ANSWER))
    const valid = events.filter((event) => event !== null)
    await forAll(chunksOf(valid, MOST_TOGETHER), async (some) => {
      for (const [event, answer] of await together(some, mostMs)) said.set(event, answer)
    })
    const left = valid.filter((event) => !said.has(event))
    await forAll(left, async (event) => said.set(event, await one(event)))
  }
  const acted = acting()
  void acted.then(then)
  await withTimeout(acted, answerMs)
  isOver = true
  return events.map((event) => {
    if (event !== null) return said.get(event) ?? UNFINISHED
    metrics.countRejected(NO_EVENT.status)
    return NO_EVENT
  })
}

function chunksOf<T>(all: readonly T[], most: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / most) }, (_, nth) => all.slice(nth * most, (nth + 1) * most))
}

/** Such an answer says that the handler is unavailable. An event that still runs does not. */
function isAboutHandler(said: Said): boolean {
  return 'error' in said && said.status === 503 && said !== UNFINISHED
}

const NO_EVENT: ErrorAnswer = {
  ...{ status: 400, error: 'not_an_event', retry: 'never' },
  message: 'The event has no valid key or type',
}
const UNFINISHED: ErrorAnswer = {
  ...{ status: 503, error: 'unfinished', retry: 'later' },
  message: 'The event is still being processed',
}
