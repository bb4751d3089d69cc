import type { Db } from 'mongodb'
import { createProviderPauses, type Pause } from './provider-pauses.ts'

/** A handler that gets no tasks, since when, by whom and why. */
export interface HandlerPause extends Omit<Pause, 'provider'> {
  readonly handler: string
}

/** The pauses of all handlers. They are stored, so all gateways share them and a restart keeps them. */
export interface HandlerPauses {
  /** The paused handlers that the latest `refresh` found. */
  readonly current: Pick<ReadonlySet<string>, 'has' | 'keys'>
  /** Reads the pauses again. Call it every second. */
  refresh(): Promise<void>
  /** All pauses, in the order of the names. */
  list(): Promise<HandlerPause[]>
  /** Pauses a handler. Resolves to false if it was already paused: then nothing is changed. */
  pause(pause: Omit<HandlerPause, 'since'>): Promise<boolean>
  /** Resumes a handler. Resolves to false if it was not paused. */
  resume(handler: string): Promise<boolean>
}

const PAUSES = 'handler_pauses'

/** Creates the view of one process. The reads of `db` must show only what a majority holds. */
export function createHandlerPauses(db: Db): HandlerPauses {
  const pauses = createProviderPauses(db, PAUSES)
  return {
    get current() {
      return pauses.current
    },
    refresh: pauses.refresh,
    list: async () => (await pauses.list()).map(({ provider: handler, ...pause }) => ({ handler, ...pause })),
    pause: ({ handler, ...pause }) => pauses.pause({ provider: handler, ...pause }),
    resume: pauses.resume,
  }
}
