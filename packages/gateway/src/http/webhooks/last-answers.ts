import type { AppError } from '@oncehook/kernel/errors'
import { notStored } from '../../errors.ts'
import type { WebhookCall } from './admission.ts'

// Long enough for a database that works, short enough for each request that is waiting behind another on its connection.
const LAST_MOMENT_MS = 25

/** When a delivery began and when it must be answered, as values of `performance.now()`. */
type Span = Pick<WebhookCall, 'startedAt' | 'endsAt'>

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
  #isEnded = false

  /**
   * Resolves to the outcome of a delivery's work. The requests of a connection are served one after the other, so a delivery
   * may begin after its deadline, or after `end`: then it gets only a moment.
   * @throws notStored if `endLate` finds it past its deadline, or `end` is called first; the work itself continues
   */
  outcomeOf<T>(work: Promise<T>, { startedAt, endsAt }: Span): Promise<T> {
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
      if (startedAt >= endsAt) setTimeout(() => this.#refuse(waiting, { late: true }), 0)
      else if (this.#isEnded) setTimeout(() => this.#refuse(waiting, { stopping: true }), LAST_MOMENT_MS)
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
    if (late.length === 0) return
    setImmediate(() => {
      for (const waiting of late) this.#refuse(waiting, { late: true })
    })
  }

  /** Ends all waits with an error, and later ones after a moment. The providers deliver again. */
  end(): void {
    this.#isEnded = true
    for (const waiting of this.#waiting.slice()) this.#refuse(waiting, { stopping: true })
  }

  /** Its outcome may have come first. */
  #refuse(waiting: Waiting, why: { readonly late: true } | { readonly stopping: true }): void {
    if (waiting.at === -1) return
    this.#remove(waiting)
    waiting.refuse(notStored(why))
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
