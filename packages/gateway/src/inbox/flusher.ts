import { setInterval } from 'node:timers'

/** Writes out regularly what gathers in memory. */
export interface Flusher {
  /** Writes what has gathered so far. */
  flush(): Promise<void>
  /** Ends the regular writing and writes once more. */
  stop(): Promise<void>
}

/**
 * Calls `write` every `everyMs` milliseconds, never twice at once: while a write is slow one more call at most waits for
 * its end, so that nothing piles up behind a database that is away. `write` takes what there is, and does not throw.
 */
export function createFlusher(write: () => Promise<void>, everyMs: number): Flusher {
  let latest: Promise<void> = Promise.resolve()
  let isWaiting = false
  const flush = (): Promise<void> => {
    if (isWaiting) return latest
    isWaiting = true
    latest = latest.then(() => {
      isWaiting = false
      return write()
    })
    return latest
  }
  const timer = setInterval(() => void flush(), everyMs)
  timer.unref()
  return {
    flush,
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}
