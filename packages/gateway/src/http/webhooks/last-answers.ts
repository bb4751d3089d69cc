import { notStored } from '../../errors.ts'

/** The deliveries that wait for their answers. At the end of the process they get an error, not just a closed connection. */
export class LastAnswers {
  readonly #waiting = new Set<(error: Error) => void>()

  /**
   * Resolves to the outcome of a delivery's work.
   * @throws notStored if `end` is called first; the work itself continues
   */
  outcomeOf<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject)
      work.then(
        (value) => {
          this.#waiting.delete(reject)
          resolve(value)
        },
        (error: unknown) => {
          this.#waiting.delete(reject)
          reject(error)
        },
      )
    })
  }

  /** Ends all waits with an error. The providers deliver again. */
  end(): void {
    for (const refuse of this.#waiting) refuse(notStored({ stopping: true }))
    this.#waiting.clear()
  }
}
