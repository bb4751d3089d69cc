import { notStored } from '../errors.ts'

/** The deliveries that wait for their answers, for the end of the process: a closed connection would answer nothing. */
export class LastAnswers {
  readonly #waiting = new Set<(error: Error) => void>()

  /**
   * The outcome of the work of a delivery.
   * @throws notStored when `end` is called first; the work itself continues
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

  /** Ends the wait of all: the provider delivers them again. */
  end(): void {
    for (const refuse of this.#waiting) refuse(notStored({ stopping: true }))
    this.#waiting.clear()
  }
}
