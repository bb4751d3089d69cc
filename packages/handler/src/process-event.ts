import { createHash } from 'node:crypto'
import { contentOf, type HandlerEvent } from './handler-event.ts'
import type { WriteLog } from './handler-log.ts'
import type { EventFunction, FindFunction, HandlerLimits } from './handler-options.ts'
import type { ErrorAnswer } from './http/answer.ts'
import type { EventResult, HandlerMetrics } from './metrics.ts'
import { Refusal } from './refusal.ts'
import type { Slots } from './slots.ts'
import { type KeyOutcome, type Store, StoreUnavailable, type Task, type TaskResult, TaskTimedOut } from './store.ts'

export interface ProcessingParts<Tx> {
  readonly store: Store<Tx>
  readonly handler: string
  readonly find: FindFunction<EventFunction<Tx>>
  readonly laterNames: ReadonlySet<string>
  readonly refusesUnhandled: boolean
  readonly limits: HandlerLimits
  readonly slots: Slots
  readonly metrics: HandlerMetrics
  readonly log: WriteLog
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** Messages were stored: a worker may send them now. */
  readonly onMessages: () => void
}

/** What the sender learns about an event that had its effect, or was recorded. */
interface DoneAnswer {
  readonly outcome: KeyOutcome
  readonly repeated: boolean
}

/** Acts on an authentic event, and says what became of it. Never rejects. */
export type ProcessEvent = (event: HandlerEvent) => Promise<DoneAnswer | ErrorAnswer>

/** Acts on several events at once, as far as the store can. Answers those that are committed: the others are left. Never rejects. */
export type ProcessTogether = (
  events: readonly HandlerEvent[],
  mostMs: number,
) => Promise<ReadonlyMap<HandlerEvent, DoneAnswer | ErrorAnswer>>

interface Processed {
  readonly result: EventResult
  readonly answer: DoneAnswer | ErrorAnswer
}

const DAY_MS = 86_400_000

// Whatever made a transaction of many events fail may make the next one fail too, and each costs a second.
const PAUSE_MS = 10_000
const NOTHING: Awaited<ReturnType<ProcessTogether>> = new Map()

export function createProcessing<Tx>(parts: ProcessingParts<Tx>): { one: ProcessEvent; together: ProcessTogether } {
  const { store, slots, limits, metrics, now, log } = parts
  const acting = { ...parts, slow: createSlowEvents() }
  let isTogetherFrom = Number.NEGATIVE_INFINITY
  const finish = ({ result, answer }: Processed, startedAt: number): DoneAnswer | ErrorAnswer => {
    metrics.countEvent(result, (now() - startedAt) / 1_000)
    return answer
  }
  return {
    async one(event) {
      const startedAt = now()
      const free = await slots.take(limits.waitMs)
      return finish(free === null ? OVERLOADED : await actSafely(acting, event).finally(free), startedAt)
    },
    async together(events, mostMs) {
      const startedAt = now()
      if (store.onceTogether === undefined || events.length < 2 || startedAt < isTogetherFrom) return NOTHING
      const tasks = events.flatMap((event) => {
        const task = taskOf(parts, event)
        return task === null ? [] : [{ event, task }]
      })
      const free = await slots.take(limits.waitMs)
      if (free === null) return NOTHING
      try {
        const results = await store.onceTogether(
          tasks.map(({ task }) => task),
          mostMs,
        )
        const answered = tasks.flatMap(({ event, task }) => {
          const result = results.get(task)
          return result === undefined ? [] : [[event, finish(toProcessed(acting, event, result), startedAt)] as const]
        })
        return new Map(answered)
      } catch (error) {
        isTogetherFrom = now() + PAUSE_MS
        log({ level: 'warn', message: 'A transaction of many events failed, so each gets its own', error })
        return NOTHING
      } finally {
        free()
      }
    },
  }
}

/** An error may be made such that looking at it throws another. */
async function actSafely<Tx>(parts: ActingParts<Tx>, event: HandlerEvent): Promise<Processed> {
  try {
    return await act(parts, event)
  } catch {
    const { key, type } = event
    parts.log({ level: 'error', message: 'An event failed with an error that cannot be read', key, type })
    return FAILED
  }
}

type ActingParts<Tx> = ProcessingParts<Tx> & { readonly slow: ReturnType<typeof createSlowEvents> }

async function act<Tx>(parts: ActingParts<Tx>, event: HandlerEvent): Promise<Processed> {
  const task = taskOf(parts, event)
  if (task === null) return UNHANDLED
  try {
    return toProcessed(parts, event, await parts.store.once(task))
  } catch (error) {
    return toFailure(parts, event, error)
  }
}

/** Null if the event is refused because there is no function for it. */
function taskOf<Tx>(
  { handler, find, laterNames, limits, refusesUnhandled }: ProcessingParts<Tx>,
  event: HandlerEvent,
): Task<Tx> | null {
  const found = find(event.type)
  if (found === undefined && refusesUnhandled) return null
  return {
    handler,
    laterNames,
    key: event.key,
    bodyHash: createHash('sha256').update(contentOf(event)).digest('hex'),
    keepMs: limits.keepKeysDays * DAY_MS,
    waitMs: limits.waitMs,
    timeoutMs: limits.timeoutMs,
    work: found === undefined ? null : (tx) => found(event, tx),
  }
}

function toProcessed(
  { log, slow, onMessages }: ActingParts<never>,
  { key, type }: HandlerEvent,
  result: TaskResult,
): Processed {
  if (!('repeated' in result)) {
    if (result.outcome === 'busy') return BUSY
    log({ level: 'error', message: 'A key came again with another body', key, type })
    return CONFLICT
  }
  const { outcome, repeated, messages } = result
  if (messages > 0) onMessages()
  if (outcome === 'done' && !repeated) slow.clear()
  if (outcome === 'unhandled' && !repeated) log({ level: 'warn', message: 'No function for this type', key, type })
  return { result: repeated ? 'repeated' : outcome, answer: { outcome, repeated } }
}

// Not 503: that would say that the handler is unavailable, and the sender would hold back other events too.
const REFUSED_STATUS = { now: 409, later: 409, never: 422 } as const

function toFailure({ log, slow }: ActingParts<never>, { key, type }: HandlerEvent, error: unknown): Processed {
  if (!(error instanceof StoreUnavailable || error instanceof TaskTimedOut)) slow.clear()
  if (error instanceof Refusal) {
    const { retry, message, afterSeconds } = error
    log({ level: 'info', message: 'A function refused an event', key, type, error })
    const wait = retry === 'never' ? {} : { retryAfter: retry === 'now' ? 0 : afterSeconds }
    return failed('refused', { status: REFUSED_STATUS[retry], error: 'refused', message, retry, ...wait })
  }
  log({ level: 'error', message: 'An event failed', key, type, error })
  if (error instanceof StoreUnavailable) return UNAVAILABLE
  if (!(error instanceof TaskTimedOut)) return FAILED
  return slow.add(key) ? ALL_TIMED_OUT : TIMED_OUT
}

function failed(result: EventResult, answer: ErrorAnswer): Processed {
  return { result, answer }
}

const LATER = { status: 503, retry: 'later', retryAfter: 1 } as const
const NEVER = { status: 422, retry: 'never' } as const

const OVERLOADED = failed('overloaded', { ...LATER, error: 'overloaded', message: 'Too many events are waiting' })
const BUSY = failed('busy', {
  ...LATER,
  status: 409,
  error: 'busy',
  message: 'Another delivery of this event is being processed',
})
const ANOTHER_BODY = 'This id came before with another body'
const CONFLICT = failed('conflict', { ...NEVER, error: 'key_conflict', message: ANOTHER_BODY })
const NO_FUNCTION = 'There is no function for this type of event'
const UNHANDLED = failed('unhandled', { ...NEVER, error: 'unhandled', message: NO_FUNCTION })
const AWAY = { ...LATER, retryAfter: 5 }
const UNAVAILABLE = failed('unavailable', { ...AWAY, error: 'unavailable', message: 'The database is unavailable' })
const TOO_LONG = { error: 'timed_out', message: 'The event took too long' }
// About this event alone. Without a time, the sender waits longer from attempt to attempt.
const TIMED_OUT = failed('timed_out', { status: 500, retry: 'later', ...TOO_LONG })
const ALL_TIMED_OUT = failed('timed_out', { ...AWAY, ...TOO_LONG })
const FAILED = failed('failed', { status: 500, error: 'failed', retry: 'later', message: 'The event failed' })

/** How many different events in a row may take too long. */
const MOST_SLOW = 2

/** Distinguishes a slow event from a slow database. */
function createSlowEvents() {
  const keys = new Set<string>()
  return {
    /** A function took too long. Returns whether the cause is probably not its event. */
    add(key: string): boolean {
      if (keys.size <= MOST_SLOW) keys.add(key)
      return keys.size > MOST_SLOW
    },
    clear: () => keys.clear(),
  }
}
