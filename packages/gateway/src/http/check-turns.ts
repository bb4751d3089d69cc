import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises'

// After a check in vain, so long is a flood expected to go on.
const FLOOD_MS = 1_000
// So long a costly check waits for cheap deliveries to be answered. Under steady load there are always some.
const PATIENCE_MS = 50

/**
 * Lets costly deliveries be checked one by one, so that others are served between them. Without turns, many that arrive
 * together are checked in one turn of the event loop, for as long as their budget lasts.
 */
export class CheckTurns {
  readonly #now: () => number
  #last: Promise<void> = Promise.resolve()
  #restsUntil = Number.NEGATIVE_INFINITY
  #cheap = 0
  #idle: PromiseWithResolvers<void> | null = null

  /** `now` in milliseconds, from a clock that is never set. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Resolves when it is the caller's turn, in the order of the calls. The check is to begin at once. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => this.#begin())
    return this.#last
  }

  /**
   * Tells that a check was in vain. The next turn waits as long as it took: such checks take at most half of the time. For
   * a second from then, turns also wait until the cheap deliveries under way are answered, 50 ms at most.
   */
  rest(ms: number): void {
    this.#restsUntil = this.#now() + ms
  }

  /** Tells that a cheap delivery is under way; `leave` is to be called once for each. */
  enter(): void {
    this.#cheap += 1
  }

  /** Tells that a cheap delivery has its answer. */
  leave(): void {
    this.#cheap -= 1
    if (this.#cheap === 0) this.#idle?.resolve()
  }

  async #begin(): Promise<void> {
    await endOfTurn()
    const ms = this.#restsUntil - this.#now()
    if (ms > 0) await sleep(ms)
    if (ms > -FLOOD_MS && this.#cheap > 0) await this.#untilIdle()
  }

  async #untilIdle(): Promise<void> {
    this.#idle = Promise.withResolvers()
    const patience = setTimeout(this.#idle.resolve, PATIENCE_MS)
    await this.#idle.promise
    clearTimeout(patience)
    this.#idle = null
  }
}
