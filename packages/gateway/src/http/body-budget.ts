import type { AppError } from '@oncehook/kernel/errors'
import type { BodyWatch } from '@oncehook/kernel/http/raw-body'
import { overloaded } from '../errors.ts'
import { bodyTooLate } from './answer-deadline.ts'

// What a body costs beside its bytes: the request, its headers, the record.
const OVERHEAD_BYTES = 4_096
// Any network brings a genuine delivery in less.
const GIVES_WAY_AFTER_MS = 1_000

/** What one body takes of the budget; it watches while the body arrives. */
export interface BodyShare extends BodyWatch {
  /** The body is whole, and stays until its answer. */
  complete(): void
  /** Gives everything back. */
  release(): void
}

/** How much memory there is in bytes, and the time in milliseconds. */
export interface BodyBudgetOptions {
  readonly capacity: number
  readonly now: () => number
}

/**
 * Memory that bodies may take together, from their first byte until their answer. What has arrived counts, for anybody
 * can announce anything; and where it is full, a body that has been arriving for a second gives way to a newer one, so
 * that nobody can hold it.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #arriving = new Set<Share>()
  #used = 0

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /**
   * Opens the share of a body that is about to be read and has to be whole by `endsAt`. One body always fits.
   * @throws overloaded
   */
  open(endsAt = Number.POSITIVE_INFINITY): BodyShare {
    const share = new Share(
      { since: this.#options.now(), endsAt },
      {
        take: (bytes) => this.#take(bytes, share),
        complete: () => this.#arriving.delete(share),
        giveBack: (bytes) => {
          this.#arriving.delete(share)
          this.#used -= bytes
        },
      },
    )
    this.#arriving.add(share)
    share.onBytes(OVERHEAD_BYTES)
    return share
  }

  /** Ends the reading of bodies that are not whole in time; to be called regularly, for a timer for each would cost more. */
  endLate(): void {
    const now = this.#options.now()
    for (const share of this.#arriving) if (share.endsAt <= now) share.giveWay(bodyTooLate())
  }

  #take(bytes: number, share: Share): void {
    for (;;) {
      const others = this.#used - share.bytes
      if (others === 0 || this.#used + bytes <= this.#options.capacity) break
      const [oldest] = this.#arriving
      const isOld = oldest !== undefined && this.#options.now() - oldest.since >= GIVES_WAY_AFTER_MS
      if (oldest === share || !isOld) {
        share.release()
        throw tooMuch()
      }
      oldest.giveWay(tooMuch())
    }
    this.#used += bytes
  }
}

interface Account {
  readonly take: (bytes: number) => void
  readonly complete: () => void
  readonly giveBack: (bytes: number) => void
}

class Share implements BodyShare {
  readonly since: number
  readonly endsAt: number
  bytes = 0
  readonly #account: Account
  #end: ((reason: AppError) => void) | undefined

  constructor({ since, endsAt }: Pick<Share, 'since' | 'endsAt'>, account: Account) {
    this.since = since
    this.endsAt = endsAt
    this.#account = account
  }

  onReading(end: (reason: AppError) => void): void {
    this.#end = end
  }

  onBytes(count: number): void {
    this.#account.take(count)
    this.bytes += count
  }

  complete(): void {
    this.#account.complete()
  }

  giveWay(reason: AppError): void {
    this.release()
    this.#end?.(reason)
  }

  release(): void {
    this.#account.giveBack(this.bytes)
    this.bytes = 0
  }
}

function tooMuch(): AppError {
  return overloaded({}, { headers: { 'Retry-After': '1', Connection: 'close' } })
}
