import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningTask, runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { backoffMs, TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { describeError, type WriteLog } from '../handler-log.ts'
import type { LaterFunction, LaterLimits } from '../handler-options.ts'
import type { HandlerMetrics } from '../metrics.ts'
import type { ClaimedMessage, Outbox } from '../store.ts'

export interface OutboxParts {
  readonly outbox: Outbox
  readonly handler: string
  readonly functions: Readonly<Record<string, LaterFunction>>
  readonly limits: Required<LaterLimits>
  readonly metrics: HandlerMetrics
  readonly log: WriteLog
  readonly random: () => number
}

/** A lease is longer than the time of an attempt, because its result has to be stored. */
const MARGIN_MS = 5_000
/** How long the results of aborted functions may take to be stored. */
const AFTER_ABORT_MS = 1_000

export type OutboxWorker = ReturnType<typeof runOutbox>

/** Sends the messages of `tx.later` that are due, some at a time, until it is stopped. */
export function runOutbox(parts: OutboxParts) {
  const { outbox, handler, functions, limits, log, random } = parts
  const running = new Set<Promise<void>>()
  const closing = new AbortController()
  const sent = createSentMessages({ outbox, log, random })
  const names = Object.keys(functions)
  const claimDue = async (stopping: AbortSignal): Promise<void> => {
    const most = limits.concurrency - running.size
    if (most === 0) return
    const claimed = await outbox.claim({ handler, names, most, leaseMs: limits.timeoutMs + MARGIN_MS })
    for (const message of claimed) {
      const sending = sendOne({ ...parts, sent }, message, closing.signal).finally(() => {
        running.delete(sending)
        // There may be more, or another one was waiting for this slot.
        if (!stopping.aborted) poll.wake()
      })
      running.add(sending)
    }
  }
  const poll: RunningTask = runPeriodically({
    ...{ task: claimDue, everyMs: limits.pollMs, random },
    onError: (error) => log({ level: 'error', message: 'Messages cannot be claimed', error }),
  })
  return {
    wake: () => poll.wake(),
    /** Claims no more. Waits for what runs, aborts it after `graceMs`, and waits a moment more. */
    async stop(graceMs: number): Promise<void> {
      const finished = poll.stop().then(() => Promise.all(running))
      if ((await withTimeout(finished, graceMs)) !== TIMED_OUT) return
      closing.abort(new Error('The handler is closing'))
      await withTimeout(Promise.all(running), AFTER_ABORT_MS)
    },
  }
}

type SendParts = OutboxParts & { readonly sent: ReturnType<typeof createSentMessages> }

async function sendOne(parts: SendParts, message: ClaimedMessage, closing: AbortSignal): Promise<void> {
  const { metrics, sent } = parts
  if (!sent.has(message)) {
    try {
      await callFunction(parts, message, closing)
    } catch (error) {
      return failOne(parts, message, { error, isClosing: closing.aborted })
    }
    metrics.countMessage(message.name, 'sent')
  }
  await sent.remove(message, closing)
}

async function failOne(
  parts: OutboxParts,
  message: ClaimedMessage,
  { error, isClosing }: Pick<Failure, 'error' | 'isClosing'>,
): Promise<void> {
  const { limits, metrics, log } = parts
  const { name, key, attempt } = message
  const isDead = attempt >= limits.attempts && !isClosing
  metrics.countMessage(name, isDead ? 'dead' : 'failed')
  const text = isDead ? 'A message is dead' : 'A message failed'
  log({ level: isDead ? 'error' : 'warn', message: text, name, key, attempt, error })
  await settleFailure(parts, message, { error, isDead, isClosing }).catch((cause: unknown) => {
    // Its lease ends, and it is claimed again.
    log({ level: 'error', message: 'The failure of a message cannot be stored', name, key, attempt, error: cause })
  })
}

interface Failure {
  readonly error: unknown
  readonly isDead: boolean
  readonly isClosing: boolean
}

async function settleFailure(
  { outbox, limits, random }: OutboxParts,
  message: ClaimedMessage,
  { error, isDead, isClosing }: Failure,
): Promise<void> {
  const reason = describeError(error)
  if (isClosing) return outbox.release(message, reason)
  if (isDead) return outbox.markDead(message, reason)
  const backoff = { baseMs: limits.retryBaseMs, capMs: limits.retryCapMs }
  await outbox.retry(message, backoffMs(backoff, message.attempt - 1, random), reason)
}

async function callFunction(
  { functions, limits }: OutboxParts,
  { name, key, payload, attempt }: ClaimedMessage,
  closing: AbortSignal,
): Promise<void> {
  if (closing.aborted) throw closing.reason
  // Crashes count too: a message that ends every process that sends it must not be tried forever.
  if (attempt > limits.attempts) throw new Error('The process ended during the last attempt')
  const ended = new AbortController()
  const late = new Error(`The function did not end within ${limits.timeoutMs} ms`)
  const timer = setTimeout(() => ended.abort(late), limits.timeoutMs)
  const onClosing = (): void => ended.abort(closing.reason)
  closing.addEventListener('abort', onClosing)
  const { signal } = ended
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  try {
    await Promise.race([functions[name]?.({ key, payload, attempt, signal }), aborted])
  } finally {
    clearTimeout(timer)
    closing.removeEventListener('abort', onClosing)
  }
}

const PAUSE = { baseMs: 250, capMs: 2_000 }
const MOST_TRIES = 4
// Another worker may remove one of them, which this one does not learn.
const MOST_REMEMBERED = 1_000

function createSentMessages({ outbox, log, random }: Pick<OutboxParts, 'outbox' | 'log' | 'random'>) {
  const unremoved = new Set<string>()
  const remember = (name: string): void => {
    unremoved.add(name)
    const [oldest] = unremoved
    if (unremoved.size > MOST_REMEMBERED && oldest !== undefined) unremoved.delete(oldest)
  }
  const tryRemoving = async (message: ClaimedMessage, closing: AbortSignal): Promise<boolean> => {
    for (let failures = 0; ; failures += 1) {
      try {
        return await outbox.remove(message)
      } catch (error) {
        if (failures + 1 >= MOST_TRIES || closing.aborted) throw error
        await sleep(backoffMs(PAUSE, failures, random), undefined, { signal: closing }).catch(() => undefined)
      }
    }
  }
  return {
    /** Whether a message was sent and is perhaps not removed. It must neither be sent again nor be dead. */
    has: (message: ClaimedMessage): boolean => unremoved.has(nameOf(message)),
    /** Tries again a few times; if that fails, or takes too long, its lease ends and it is claimed again. Never rejects. */
    async remove(message: ClaimedMessage, closing: AbortSignal): Promise<void> {
      const { name, key, attempt } = message
      // Before the first try: it may take longer than the lease.
      remember(nameOf(message))
      try {
        // If not, its lease has ended: it may be on its way to this worker as a new claim.
        if (await tryRemoving(message, closing)) unremoved.delete(nameOf(message))
      } catch (error) {
        log({ level: 'error', message: 'A sent message cannot be removed', name, key, attempt, error })
      }
    },
  }
}

/** An expired key can come again, with another id. A store may have ids that are no texts. */
function nameOf({ key, id }: ClaimedMessage): string {
  return `${key} ${String(id)}`
}
