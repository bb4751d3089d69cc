import { createHash } from 'node:crypto'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { type LaterTransaction, type NewMessage, StoreUnavailable, type Task, TaskTimedOut } from './store.ts'

/** The longest payload of a message, as JSON in UTF-16 units. */
const MAX_PAYLOAD = 262_144

/**
 * Runs the work of a task in a transaction that `open` makes of the shared part, for at most the task's time. Afterwards the
 * shared part refuses every use.
 * @returns the messages to store before the commit
 * @throws TaskTimedOut, or what the work throws
 */
export async function runWork<Tx>(
  { work, timeoutMs, laterNames }: Task<Tx>,
  open: (shared: LaterTransaction, assertOpen: () => void) => Tx,
): Promise<readonly NewMessage[]> {
  if (work === null) return []
  const messages: NewMessage[] = []
  const ended = new AbortController()
  let isOpen = true
  const assertOpen = (): void => {
    if (!isOpen) throw new Error('The transaction has ended: await everything before the function returns')
  }
  const shared: LaterTransaction = {
    signal: ended.signal,
    later(name, payload = null) {
      assertOpen()
      messages.push(newMessage(name, payload, laterNames))
    },
  }
  try {
    const running = Promise.resolve(work(open(shared, assertOpen)))
    if ((await withTimeout(running, timeoutMs)) !== TIMED_OUT) return messages
    const reason = new TaskTimedOut(timeoutMs)
    ended.abort(reason)
    throw reason
  } finally {
    isOpen = false
  }
}

function newMessage(name: string, payload: unknown, names: ReadonlySet<string>): NewMessage {
  if (!names.has(name)) throw new TypeError(`There is no function "${name}" in later`)
  const json: string | undefined = JSON.stringify(payload)
  if (json === undefined) throw new TypeError('The payload of a message must be JSON')
  if (json.length > MAX_PAYLOAD)
    throw new TypeError(`The payload of a message is longer than ${MAX_PAYLOAD} characters`)
  return { name, json }
}

/** Many services refuse a longer idempotency key. */
const MAX_BYTES = 255

/** The key of a message: the name of the handler, the key of the event and the position of the message. SHA-256 shortens a long one. */
export function messageKey({ handler, key }: Task<never>, position: number): string {
  const text = `${handler}:${key}:${position}`
  return Buffer.byteLength(text) <= MAX_BYTES ? text : createHash('sha256').update(text).digest('hex')
}

/**
 * Waits for an answer of the database, for a limited time. What was asked continues. Rejections pass through.
 * @throws StoreUnavailable if there is no answer in time
 */
export async function inTime<T>(asked: Promise<T>, ms: number): Promise<T> {
  const answer = await withTimeout(asked, ms)
  if (answer === TIMED_OUT) throw new StoreUnavailable(new Error(`It did not answer within ${ms} ms`))
  return answer as T
}

/** The limits of waiting for a database that should answer at once, in milliseconds. */
export const LIMITS_MS = {
  /** Added to the wait for another transaction. */
  margin: 2_000,
  /** A commit, or messages that are stored before it. */
  commit: 10_000,
  rollback: 2_000,
} as const
