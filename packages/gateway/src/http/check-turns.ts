import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises'

// After a check in vain, so long is a flood expected to go on.
const FLOOD_MS = 1_000
// So long a costly check waits for cheap deliveries to be answered. Under steady load there are always some.
const PATIENCE_MS = 50
// Then strangers get a turn, however many known addresses wait.
const KNOWN_IN_A_ROW = 3

/** A costly delivery that wants a turn. */
export interface TurnRequest {
  /** Whether its address has delivered something new and authentic. */
  readonly isKnown: boolean
  /** Ends the wait. */
  readonly signal: AbortSignal
}

type Waiting = PromiseWithResolvers<void>

/**
 * Lets costly deliveries be checked one by one, so that others are served between them. Without turns, many that arrive
 * together are checked in one turn of the event loop, for as long as their budget lasts. Known addresses do not wait behind
 * strangers: of four turns they get three.
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

  /** `now` in milliseconds, from a clock that is never set. */
  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Resolves when it is the caller's turn: among known addresses, and among strangers, in the order of the calls. The check is
   * to begin at once. Rejects with the reason of the signal.
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
   * Tells that a check was in vain. The next turn waits as long as it took: such checks take at most half of the time. For
   * a second from then, turns of strangers also wait until the cheap deliveries under way are answered, 50 ms at most.
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
    // All may have left meanwhile.
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
