import { runPeriodically } from '@oncehook/kernel/time/run-periodically'

/** Calls `write` every `everyMs` milliseconds, never twice at the same time. It takes everything there is, and must not throw. */
export function createPeriodicFlush(write: () => Promise<void>, everyMs: number) {
  const timer = runPeriodically({ task: write, everyMs, random: () => 0.5, onError: () => undefined })
  return {
    flush: write,
    /** Ends the periodic flush and flushes once more. */
    async stop(): Promise<void> {
      await timer.stop()
      await write()
    },
  }
}
