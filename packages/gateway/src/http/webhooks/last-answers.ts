import type { AppError } from '@oncehook/kernel/errors'
import { notStored } from '../../errors.ts'

/** Work for which an answer waits. */
interface Waiting {
  /** The value of `performance.now()` at which its answer must be sent. */
  readonly endsAt: number
  readonly refuse: (error: AppError) => void
  /** Its index in the list; -1 if it has left the list. */
  at: number
}

/**
 * The deliveries that wait for their answers. At their deadline, and at the end of the process, they get an error, not just
 * a closed connection.
 *
 * They are in an array, because the garbage collector handles a `Set` with short-lived members badly: the tables that a set
 * leaves behind when it grows keep their members alive. That doubled the full collections under load.
 */
export class LastAnswers {
  readonly #waiting: Waiting[] = []

  /**
   * Resolves to the outcome of a delivery's work.
   * @throws notStored if `endLate` finds it past its deadline, or `end` is called first; the work itself continues
   */
  outcomeOf<T>(work: Promise<T>, endsAt: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { endsAt, refuse: reject, at: this.#waiting.length }
      this.#waiting.push(waiting)
      work.then(
        (value) => {
          this.#remove(waiting)
          resolve(value)
        },
        (error: unknown) => {
          this.#remove(waiting)
          reject(error)
        },
      )
    })
  }

  /**
   * Ends the waits that are past their deadline. Call it regularly: one timer per delivery would cost more. Work that ends
   * at the same deadline may first say itself what was late. After a stall of the process, its timer can run after the
   * caller's, but not after this turn of the event loop.
   */
  endLate(): void {
    const now = performance.now()
    const late = this.#waiting.filter(({ endsAt }) => endsAt <= now)
    if (late.length > 0) setImmediate(() => this.#endAll(late))
  }

  #endAll(late: readonly Waiting[]): void {
    for (const waiting of late) {
      if (waiting.at === -1) continue
      this.#remove(waiting)
      waiting.refuse(notStored({ late: true }))
    }
  }

  /** Ends all waits with an error. The providers deliver again. */
  end(): void {
    for (const waiting of this.#waiting.splice(0)) {
      waiting.at = -1
      waiting.refuse(notStored({ stopping: true }))
    }
  }

  /** The last one takes the place of the one that is removed. */
  #remove(waiting: Waiting): void {
    const { at } = waiting
    if (at === -1) return
    waiting.at = -1
    const last = this.#waiting.pop()
    if (last === undefined || last === waiting) return
    last.at = at
    this.#waiting[at] = last
  }
}
