import { notStored } from '../../errors.ts'

interface Waiting {
  readonly refuse: (error: Error) => void
  /** Its index in the list. */
  at: number
}

/**
 * The deliveries that wait for their answers. At the end of the process they get an error, not just a closed connection.
 *
 * They are in an array, because the garbage collector handles a `Set` with short-lived members badly: the tables that a set
 * leaves behind when it grows keep their members alive. That doubled the full collections under load.
 */
export class LastAnswers {
  readonly #waiting: Waiting[] = []

  /**
   * Resolves to the outcome of a delivery's work.
   * @throws notStored if `end` is called first; the work itself continues
   */
  outcomeOf<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { refuse: reject, at: this.#waiting.length }
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

  /** Ends all waits with an error. The providers deliver again. */
  end(): void {
    for (const { refuse } of this.#waiting) refuse(notStored({ stopping: true }))
  }

  /** The last one takes the place of the one that is removed. */
  #remove({ at }: Waiting): void {
    const last = this.#waiting.pop()
    if (last === undefined || last.at === at) return
    last.at = at
    this.#waiting[at] = last
  }
}
