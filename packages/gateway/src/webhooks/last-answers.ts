import type { AppError } from '@oncehook/kernel/http/errors'
import { notStored } from '../errors.ts'
import type { WebhookCall } from './admission.ts'

// Long enough for a database that works, short enough for each request that is waiting behind another on its connection.
const LAST_MOMENT_MS = 25

/** When a delivery began and when it must be answered, as values of `performance.now()`. */
type Span = Pick<WebhookCall, 'startedAt' | 'endsAt'>

interface Waiting {
  /** The value of `performance.now()` at which its answer must be sent. */
  readonly endsAt: number
  readonly refuse: (error: AppError) => void
  /** Its place in the list. */
  at: number
}

/**
 * The deliveries that wait for their answers. At their deadline, and at the end of the process, they get an error, not just
 * a closed connection. They are in an array: what a `Set` leaves behind when it grows keeps its members in memory, which costs
 * 8 % of the accepts per second.
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
    return new Promise((resolve, refuse) => {
      const waiting = { endsAt, refuse, at: this.#waiting.length }
      this.#waiting.push(waiting)
      if (startedAt >= endsAt) setTimeout(() => refuse(notStored({ late: true })), 0)
      else if (this.#isEnded) setTimeout(() => refuse(notStored({ stopping: true })), LAST_MOMENT_MS)
      work.then(resolve, refuse).finally(() => this.#remove(waiting))
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
      for (const { refuse } of late) refuse(notStored({ late: true }))
    })
  }

  #remove({ at }: Waiting): void {
    const last = this.#waiting.pop()
    if (last === undefined || last.at === at) return
    last.at = at
    this.#waiting[at] = last
  }

  /** Ends all waits with an error, and later ones after a moment. The providers deliver again. */
  end(): void {
    this.#isEnded = true
    for (const { refuse } of this.#waiting) refuse(notStored({ stopping: true }))
  }
}
