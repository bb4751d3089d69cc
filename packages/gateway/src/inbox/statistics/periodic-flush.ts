import { setInterval } from 'node:timers'

/**
 * Calls `write` every `everyMs` milliseconds, never twice at the same time. While a write is slow, at most one more
 * call waits for its end, so that nothing piles up behind an unavailable database. `write` takes everything there is,
 * and must not throw.
 */
export function createPeriodicFlush(write: () => Promise<void>, everyMs: number) {
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
    /** Ends the periodic flush and flushes once more. */
    async stop(): Promise<void> {
      clearInterval(timer)
      await flush()
    },
  }
}
