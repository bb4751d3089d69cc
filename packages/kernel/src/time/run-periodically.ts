import { setTimeout as sleep } from 'node:timers/promises'

/** A periodic task. `everyMs` is counted from the end of a run, with up to a quarter of jitter. */
export interface PeriodicTask {
  readonly task: (stopping: AbortSignal) => Promise<void>
  /** Milliseconds. A function is called after each run. */
  readonly everyMs: number | (() => number)
  readonly random: () => number
  readonly onError: (error: unknown) => void
}

export type RunningTask = ReturnType<typeof runPeriodically>

/** Runs a task periodically, never in parallel. */
export function runPeriodically({ task, everyMs, random, onError }: PeriodicTask) {
  const stopping = new AbortController()
  let waiting = new AbortController()
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      waiting = new AbortController()
      await task(stopping.signal).catch(onError)
      if (stopping.signal.aborted) return
      const waitMs = (typeof everyMs === 'number' ? everyMs : everyMs()) * (0.875 + random() / 4)
      await sleep(waitMs, undefined, { signal: waiting.signal, ref: false }).catch(() => undefined)
    }
  }
  const ended = loop()
  return {
    /** Runs the task as soon as possible: at once, or again when the current run has ended. */
    wake: (): void => waiting.abort(),
    /** Ends the task. Resolves after the current run. */
    async stop(): Promise<void> {
      stopping.abort()
      waiting.abort()
      await ended
    },
  }
}
