import { runPeriodically } from '@oncehook/kernel/time/run-periodically'
import { withTimeout } from '@oncehook/kernel/time/waits'
import type { Dispatcher } from './dispatcher.ts'

export type SuspectTaker = Pick<Dispatcher, 'handler' | 'mayTrySuspects' | 'trySuspects'>

export interface SuspectsLaneDeps {
  readonly dispatchers: () => Iterable<SuspectTaker>
  readonly suspected: () => Promise<readonly string[]>
  readonly random: () => number
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

const EVERY_MS = 1_000
// What kills a process has done so by then. A handler that only takes long must not hold up the others.
const GROUP_MS = 5_000
// An end from a clock that was ahead is not the first one while other tasks are held, so a look at the first does not show it.
const UNASKED_MS = 60_000

/**
 * The one lane of a process for suspects, of all its handlers. One of them may kill the process, so the groups come one after the
 * other, and the next is claimed when it can be sent at once: what is not claimed loses nothing by the next death. Handlers take
 * turns.
 */
export class SuspectsLane {
  readonly #deps: SuspectsLaneDeps
  #last: SuspectTaker | null = null
  #askedAllAt: number
  #timer: { stop(): Promise<void> } | null = null
  #isStopping = false

  constructor(deps: SuspectsLaneDeps) {
    this.#deps = deps
    this.#askedAllAt = deps.now()
  }

  start(): void {
    const { random, onError } = this.#deps
    this.#timer = runPeriodically({ task: () => this.#run(), everyMs: EVERY_MS, random, onError })
  }

  /** Takes no more. Does not wait for the group in progress: its dispatcher ends it. */
  stop(): void {
    this.#isStopping = true
    void this.#timer?.stop()
  }

  async #run(): Promise<void> {
    const suspected = await this.#suspected()
    for (let found = true; found && !this.#isStopping; ) found = await this.#tryOne(suspected)
  }

  /** The dispatchers that may have suspects, and now and then all. */
  async #suspected(): Promise<(taker: SuspectTaker) => boolean> {
    const { suspected, now } = this.#deps
    const names = await suspected()
    if (now() - this.#askedAllAt < UNASKED_MS) return ({ handler }) => names.includes(handler)
    this.#askedAllAt = now()
    return () => true
  }

  async #tryOne(isSuspected: (taker: SuspectTaker) => boolean): Promise<boolean> {
    const { dispatchers, onError } = this.#deps
    const all = [...dispatchers()]
    const next = this.#last === null ? 0 : all.indexOf(this.#last) + 1
    for (const dispatcher of [...all.slice(next), ...all.slice(0, next)].filter(isSuspected)) {
      if (this.#isStopping || !dispatcher.mayTrySuspects()) continue
      this.#last = dispatcher
      const trying = dispatcher.trySuspects()
      trying.catch(onError)
      // A dispatcher that fails keeps no other one from its turn.
      if ((await withTimeout(trying, GROUP_MS).catch(() => false)) !== false) return true
    }
    return false
  }
}
