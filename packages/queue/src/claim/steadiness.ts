import { MongoServerError } from 'mongodb'

// A hint names an index that is not there, or not built yet. The database answers.
const BAD_VALUE = 2
// Single commands fail on a busy or distant database too. That no command succeeds for so long is an outage.
const OUTAGE_MS = 2_000

/**
 * Whether the database answers a process, so that it may say that others have died. After an outage the holders of claims need a
 * while to settle or to release what they hold: until then nobody takes over from them. A database that only answers searches is
 * away too, so a majority confirms a write before each takeover, and before the first claim after a command that failed.
 */
export class Steadiness {
  readonly #forMs: number
  readonly #confirm: () => Promise<void>
  readonly #now: () => number
  #steadyFrom: number
  #succeededAt: number
  #isDoubtful = false

  /** `now`: milliseconds that never go backwards. `confirm`: makes a write that a majority has to confirm. */
  constructor(forMs: number, now: () => number, confirm: () => Promise<void>) {
    this.#forMs = forMs
    this.#now = now
    this.#confirm = confirm
    this.#succeededAt = now()
    this.#steadyFrom = now() + forMs
  }

  /** Whether the last command succeeded, and no outage was less than `forMs` ago. */
  get isSteady(): boolean {
    return !this.#isDoubtful && this.#now() >= this.#steadyFrom
  }

  /** Resolves if a majority confirms writes, so that a claim is not stored by one node only. */
  async confirm(): Promise<void> {
    try {
      await this.#confirm()
    } catch (error) {
      this.#isDoubtful = true
      this.#steadyFrom = this.#now() + this.#forMs
      throw error
    }
    this.#succeeded()
  }

  async confirmIfDoubtful(): Promise<void> {
    if (this.#isDoubtful) await this.confirm()
  }

  async watch<T>(command: Promise<T>): Promise<T> {
    try {
      const result = await command
      this.#succeeded()
      return result
    } catch (error) {
      const isAnswered = error instanceof MongoServerError && error.code === BAD_VALUE
      if (!isAnswered) this.#isDoubtful = true
      throw error
    }
  }

  #succeeded(): void {
    const now = this.#now()
    if (this.#isDoubtful && now - this.#succeededAt > OUTAGE_MS) this.#steadyFrom = now + this.#forMs
    this.#isDoubtful = false
    this.#succeededAt = now
  }
}
