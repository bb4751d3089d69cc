import type { Db } from 'mongodb'

/** A later answer says more about the clock: a new primary may have another one. */
const FRESH_MS = 5_000

/** The clock of the database. Between two answers, its time is estimated from the last one. */
export class DatabaseClock {
  readonly #db: Db
  readonly #monotonicMs: () => number
  #last: { readonly askedAt: number; readonly time: number } | undefined

  /** `monotonicMs` counts milliseconds and is never set. */
  constructor(db: Db, monotonicMs: () => number) {
    this.#db = db
    this.#monotonicMs = monotonicMs
  }

  /** Asks the database for its time. */
  async now(): Promise<Date> {
    const askedAt = this.#monotonicMs()
    const { localTime } = await this.#db.command({ hello: 1 })
    const now = localTime as Date
    this.#last = { askedAt, time: now.getTime() }
    return now
  }

  /**
   * The time of the database as of its last answer: never behind it, and ahead of it by at most the time that the answer
   * took. Null if there was no answer in the last five seconds.
   */
  estimate(): Date | null {
    if (this.#last === undefined) return null
    const sinceMs = this.#monotonicMs() - this.#last.askedAt
    return sinceMs > FRESH_MS ? null : new Date(this.#last.time + sinceMs)
  }
}
