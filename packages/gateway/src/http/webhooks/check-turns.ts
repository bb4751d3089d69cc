import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises'

// A flood is expected to continue for this long after a failed check.
const FLOOD_MS = 1_000
// The longest wait of a costly check for cheap deliveries. Under steady load there are always some.
const PATIENCE_MS = 50
// After this number of turns, a stranger gets one, however many known addresses wait.
const KNOWN_IN_A_ROW = 3

/** A costly delivery that waits for a turn. */
export interface TurnRequest {
  /** Whether its address has delivered something new and authentic. */
  readonly isKnown: boolean
  /** Ends the wait. */
  readonly signal: AbortSignal
}

type Waiting = PromiseWithResolvers<void>

/**
 * Schedules the checks of costly deliveries one by one, so that other deliveries are served between them. Without turns,
 * costly deliveries that arrive together would be checked in one turn of the event loop, for as long as their budget lasts.
 * Known addresses do not wait behind strangers: they get three of four turns.
 */
export class CheckTurns {
  readonly #now: () => number
  readonly #known = new Set<Waiting>()
  readonly #strangers = new Set<Waiting>()
  #knownInARow = 0
  #isGoing = false
  #restsUntil = Number.NEGATIVE_INFINITY
  #cheap = 0
  #idle: PromiseWithResolvers<void> | null = null

  /** `now` in milliseconds, from a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Resolves when it is the caller's turn. Known addresses get their turns in the order of their calls, and so do strangers.
   * The caller must start its check at once. Rejects with the reason of the signal.
   */
  next({ isKnown, signal }: TurnRequest): Promise<void> {
    const queue = isKnown ? this.#known : this.#strangers
    const waiting: Waiting = Promise.withResolvers()
    queue.add(waiting)
    const leave = (): void => {
      queue.delete(waiting)
      waiting.reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    if (isKnown) this.#idle?.resolve()
    if (!this.#isGoing) void this.#go()
    return waiting.promise
  }

  /**
   * Reports that a check has failed. The next turn waits as long as that check took, so that such checks use at most half of
   * the time. For a second after that, turns of strangers also wait for the cheap deliveries in progress, at most 50 ms.
   */
  rest(ms: number): void {
    this.#restsUntil = this.#now() + ms
  }

  /** Reports that a cheap delivery is in progress. Call `leave` once for each. */
  enter(): void {
    this.#cheap += 1
  }

  /** Reports that a cheap delivery is answered. */
  leave(): void {
    this.#cheap -= 1
    if (this.#cheap === 0) this.#idle?.resolve()
  }

  async #go(): Promise<void> {
    this.#isGoing = true
    while (this.#known.size + this.#strangers.size > 0) {
      await this.#untilFree()
      this.#give()
    }
    this.#isGoing = false
  }

  async #untilFree(): Promise<void> {
    await endOfTurn()
    const ms = this.#restsUntil - this.#now()
    if (ms > 0) await sleep(ms)
    if (ms > -FLOOD_MS && this.#cheap > 0 && this.#known.size === 0) await this.#untilIdle()
  }

  #give(): void {
    const isOfKnown = this.#strangers.size === 0 || (this.#known.size > 0 && this.#knownInARow < KNOWN_IN_A_ROW)
    this.#knownInARow = isOfKnown ? this.#knownInARow + 1 : 0
    const queue = isOfKnown ? this.#known : this.#strangers
    const [first] = queue
    // All may have left in the meantime.
    if (first === undefined) return
    queue.delete(first)
    first.resolve()
  }

  async #untilIdle(): Promise<void> {
    this.#idle = Promise.withResolvers()
    const patience = setTimeout(this.#idle.resolve, PATIENCE_MS)
    await this.#idle.promise
    clearTimeout(patience)
    this.#idle = null
  }
}
