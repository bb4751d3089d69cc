import type { AppError } from '@oncehook/kernel/errors'
import { notStored } from '../../errors.ts'

/** Work for which an answer waits. */
interface Waiting {
  /** The value of `performance.now()` at which its answer must be sent. */
  readonly endsAt: number
  readonly refuse: (error: AppError) => void
}

/**
 * The deliveries that wait for their answers. At their deadline, and at the end of the process, they get an error, not just
 * a closed connection.
 */
export class LastAnswers {
  readonly #waiting = new Set<Waiting>()

  /**
   * Resolves to the outcome of a delivery's work.
   * @throws notStored if `endLate` finds it past its deadline, or `end` is called first; the work itself continues
   */
  outcomeOf<T>(work: Promise<T>, endsAt: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting = { endsAt, refuse: reject }
      this.#waiting.add(waiting)
      work.then(
        (value) => {
          this.#waiting.delete(waiting)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(waiting)
          reject(error)
        },
      )
    })
  }

  /** Ends the waits that are past their deadline. Call it regularly: one timer per delivery would cost more. */
  endLate(): void {
    const now = performance.now()
    for (const waiting of this.#waiting) {
      if (waiting.endsAt > now) continue
      this.#waiting.delete(waiting)
      waiting.refuse(notStored({ late: true }))
    }
  }

  /** Ends all waits with an error. The providers deliver again. */
  end(): void {
    for (const { refuse } of this.#waiting) refuse(notStored({ stopping: true }))
    this.#waiting.clear()
  }
}
