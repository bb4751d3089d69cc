import { type RunningTask, runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { withTimeout } from '@oncehook/kernel/time/waits'
import { type OutboxParts, type OutboxWorker, runOutbox } from './outbox/run-outbox.ts'
import type { Store } from './store.ts'

export interface BackgroundParts extends Omit<OutboxParts, 'outbox' | 'functions'> {
  readonly store: Pick<Store<never>, 'outbox' | 'removeExpired'>
  readonly later: OutboxParts['functions']
}

const REMOVE_EVERY_MS = 60_000
const LONGEST_TIMER_MS = 2_147_483_647

/** Creates the work of a handler in the background: sending messages, and removing expired keys. */
export function createBackground({ store, later, ...parts }: BackgroundParts) {
  const { random, log } = parts
  let running: { readonly worker: OutboxWorker | null; readonly removal: RunningTask } | undefined
  let keepAlive: NodeJS.Timeout | undefined
  return {
    /** Starts it, if it does not run. */
    start(): void {
      if (running !== undefined) return
      const hasMessages = Object.keys(later).length > 0
      const worker = hasMessages ? runOutbox({ ...parts, outbox: store.outbox, functions: later }) : null
      const removal = runPeriodically({
        ...{ everyMs: REMOVE_EVERY_MS, random },
        async task(stopping) {
          while (!stopping.aborted && (await store.removeExpired()) > 0);
        },
        onError: (error) => log({ level: 'warn', message: 'Expired keys cannot be removed', error }),
      })
      running = { worker, removal }
      // The waits of the tasks keep no process alive.
      keepAlive = setInterval(() => undefined, LONGEST_TIMER_MS)
    },
    wake: (): void => running?.worker?.wake(),
    async stop(graceMs: number): Promise<void> {
      clearInterval(keepAlive)
      if (running === undefined) return
      const { worker, removal } = running
      // The database may be locked.
      await Promise.all([worker?.stop(graceMs), withTimeout(removal.stop(), graceMs)])
    },
  }
}
