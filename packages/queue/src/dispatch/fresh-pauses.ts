import { withTimeout } from '@oncehook/kernel/time/waits'
import type { Paused, Pauses } from '../pauses.ts'

export interface UsedPauses {
  readonly current: Paused
  /** Reads the pauses unless nobody uses them. Call it every second. */
  refresh(): Promise<void>
  /** Resolves once the pauses are fresh, or after a second without an answer. Null if they are fresh already. */
  use(): Promise<void> | null
}

export interface FreshPausesDeps {
  readonly pauses: Pick<Pauses, 'current' | 'refresh'>
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

const FRESH_MS = 1_000
const IDLE_MS = 15_000
const LATE_MS = 1_000

/**
 * Reads pauses often enough for a pause to take effect in every process within two seconds. A process that sends nothing
 * reads them rarely, and once before it sends again.
 */
export class FreshPauses implements UsedPauses {
  readonly #deps: FreshPausesDeps
  #readAt = Number.NEGATIVE_INFINITY
  #isUsed = true
  #hasSkipped = false
  #reading: Promise<void> | null = null

  constructor(deps: FreshPausesDeps) {
    this.#deps = deps
  }

  get current(): Paused {
    return this.#deps.pauses.current
  }

  async refresh(): Promise<void> {
    const { now } = this.#deps
    if (!this.#isUsed && now() - this.#readAt < IDLE_MS) this.#hasSkipped = true
    else await this.#read()
  }

  use(): Promise<void> | null {
    this.#isUsed = true
    if (!this.#hasSkipped || this.#deps.now() - this.#readAt < FRESH_MS) return null
    this.#reading ??= this.#readInTime()
    return this.#reading
  }

  async #readInTime(): Promise<void> {
    await withTimeout(this.#read().catch(this.#deps.onError), LATE_MS)
    // Without an answer, what was known last counts, as it does while the database is unavailable.
    this.#hasSkipped = false
    this.#reading = null
  }

  async #read(): Promise<void> {
    const startedAt = this.#deps.now()
    this.#isUsed = false
    await this.#deps.pauses.refresh()
    this.#readAt = startedAt
    this.#hasSkipped = false
  }
}
