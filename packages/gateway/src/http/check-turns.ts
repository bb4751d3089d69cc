import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises'

/**
 * Lets costly deliveries be checked one by one, so that others are served between them. Without turns, many that arrive
 * together are checked in one turn of the event loop, for as long as their budget lasts.
 */
export class CheckTurns {
  readonly #now: () => number
  #last: Promise<void> = Promise.resolve()
  #restsUntil = 0

  /** `now` in milliseconds, from a clock that is never set. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Resolves when it is the caller's turn, in the order of the calls. The check is to begin at once. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => this.#begin())
    return this.#last
  }

  /** Lets the turn after a check in vain wait as long as the check took: such checks take at most half of the time. */
  rest(ms: number): void {
    this.#restsUntil = this.#now() + ms
  }

  async #begin(): Promise<void> {
    await endOfTurn()
    const ms = this.#restsUntil - this.#now()
    if (ms > 0) await sleep(ms)
  }
}
