/** Milliseconds: the waits between two questions, and a clock that never goes backwards. */
export interface PaceOptions {
  readonly leastMs: number
  readonly mostMs: number
  readonly now: () => number
}

/**
 * Says when to ask the database again. The wait doubles while the answers are empty, and is short again after one that
 * is not. Something that is known to become due is asked for in time. It is meant to be looked at every `leastMs`.
 */
export class IdlePace {
  readonly #options: PaceOptions
  #waitMs: number
  #askAt = Number.NEGATIVE_INFINITY
  #dueAt = Number.POSITIVE_INFINITY

  constructor(options: PaceOptions) {
    this.#options = options
    this.#waitMs = options.leastMs
  }

  /** Whether it is time to ask. */
  get isTime(): boolean {
    return this.#options.now() >= Math.min(this.#askAt, this.#dueAt)
  }

  /** Records an answer. */
  answered(isEmpty: boolean): void {
    const { leastMs, mostMs, now } = this.#options
    const at = now()
    if (at >= this.#dueAt) this.#dueAt = Number.POSITIVE_INFINITY
    this.#waitMs = isEmpty ? Math.min(this.#waitMs * 2, mostMs) : leastMs
    // The looks are not exactly `leastMs` apart.
    this.#askAt = at + this.#waitMs - leastMs / 2
  }

  /** Records that something becomes due in this many milliseconds. */
  expect(ms: number): void {
    this.#dueAt = Math.min(this.#dueAt, this.#options.now() + ms)
  }
}
