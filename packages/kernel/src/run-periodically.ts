import { setTimeout as sleep } from 'node:timers/promises'

/** A periodic task. `everyMs` is counted from the end of a run, with up to a quarter of jitter. */
export interface PeriodicTask {
  readonly task: (stopping: AbortSignal) => Promise<void>
  readonly everyMs: number
  readonly random: () => number
  readonly onError: (error: unknown) => void
}

/** Runs a task periodically, never in parallel. `stop` resolves after the current run. */
export function runPeriodically({ task, everyMs, random, onError }: PeriodicTask): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await task(stopping.signal).catch(onError)
      const waitMs = everyMs * (0.875 + random() / 4)
      await sleep(waitMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
    }
  }
  const ended = loop()
  return {
    async stop() {
      stopping.abort()
      await ended
    },
  }
}
