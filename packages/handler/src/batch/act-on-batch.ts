import { withTimeout } from '@oncehook/kernel/time/waits'
import type { HandlerEvent } from '../handler-event.ts'
import type { ErrorAnswer } from '../http/answer.ts'
import type { HandlerMetrics } from '../metrics.ts'
import type { ProcessEvent } from '../process-event.ts'
import type { RetryAdvice } from '../refusal.ts'

interface BatchParts {
  /** How many events of a batch are acted on at the same time. The others wait in it, and take no place of others. */
  readonly concurrency: number
  readonly metrics: HandlerMetrics
  readonly process: ProcessEvent
}

/**
 * Acts on the events of a batch, each separately; one that is not valid is null. Resolves to the answer to each when all are done, or
 * after `answerMs`: what has begun by then continues, and what has not does not begin. Resolves to an error if the handler is
 * unavailable for all of them. Calls `then` when nothing runs any more.
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

async function actOnEach(
  { concurrency, metrics, process }: BatchParts,
  { events, answerMs }: { readonly events: readonly (HandlerEvent | null)[]; readonly answerMs: number },
  then: () => unknown,
): Promise<readonly Said[]> {
  const said = events.map((): Said => UNFINISHED)
  const queue = events.entries()
  let isOver = false
  const act = async (): Promise<void> => {
    for (const [index, one] of queue) {
      if (isOver) return
      if (one === null) metrics.countRejected(NO_EVENT.status)
      said[index] = one === null ? NO_EVENT : await process(one)
    }
  }
  const acting = Promise.allSettled(Array.from({ length: Math.min(concurrency, events.length) }, act))
  void acting.then(then)
  await withTimeout(acting, answerMs)
  isOver = true
  return [...said]
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
