import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'
import { type LaterTransaction, type NewMessage, type Task, TaskTimedOut } from './store.ts'

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
