import { TIMED_OUT, withTimeout } from '../time/waits.ts'

/** A call with several items, which resolves to a result for each of them, in their order. */
export type CallForAll<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>

interface Waiting<Item, Result> {
  readonly items: readonly Item[]
  readonly resolve: (results: readonly Result[]) => void
  readonly reject: (error: unknown) => void
}

export interface Sharing {
  /** The most items of a call, unless one caller has more. */
  readonly most: number
  /** How long the next call waits for the end of one, in milliseconds: a single call that hangs holds up no others. */
  readonly patienceMs: number
}

/** If all calls are slow, more of them at a time would only take connections from others. */
const MOST_CALLS = 2

/**
 * Lets callers share calls: there is one at a time, and all that come meanwhile share the next one. Only if a call takes
 * longer than `patienceMs`, the next one begins beside it, but never a third. If a call fails, it fails for everyone who
 * shares it.
 */
export function shareCalls<Item, Result>(
  call: CallForAll<Item, Result>,
  { most, patienceMs }: Sharing,
): CallForAll<Item, Result> {
  const waiting: Waiting<Item, Result>[] = []
  const slow = new Set<Promise<void>>()
  let isRunning = false
  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      if (slow.size === MOST_CALLS) await Promise.race(slow)
      const called = callFor(call, waiting.splice(0, countSharing(waiting, most)))
      if ((await withTimeout(called, patienceMs)) !== TIMED_OUT) continue
      slow.add(called)
      void called.then(() => slow.delete(called))
    }
    isRunning = false
  }
  return (items) =>
    new Promise((resolve, reject) => {
      waiting.push({ items, resolve, reject })
      if (isRunning) return
      isRunning = true
      // Deferred, so that those who come at the same time share the first one, too.
      queueMicrotask(() => void run())
    })
}

function countSharing(waiting: readonly { readonly items: readonly unknown[] }[], most: number): number {
  let items = 0
  const end = waiting.findIndex(({ items: own }, index) => {
    items += own.length
    return index > 0 && items > most
  })
  return end === -1 ? waiting.length : end
}

async function callFor<Item, Result>(
  call: CallForAll<Item, Result>,
  sharing: readonly Waiting<Item, Result>[],
): Promise<void> {
  try {
    const results = await call(sharing.flatMap(({ items }) => items))
    let from = 0
    for (const { items, resolve } of sharing) {
      resolve(results.slice(from, from + items.length))
      from += items.length
    }
  } catch (error) {
    for (const { reject } of sharing) reject(error)
  }
}
