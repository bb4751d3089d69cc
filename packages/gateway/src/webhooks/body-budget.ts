import type { AppError } from '@oncehook/kernel/http/errors'
import type { BodyWatch } from '@oncehook/kernel/http/server/raw-body'
import { overloaded } from '@oncehook/webhooks/providers'
import { bodyTooLate } from '../http/request-context.ts'

// The cost of a body besides its bytes: the request, its headers, the record.
const OVERHEAD_BYTES = 4_096
// On any network, a genuine delivery arrives faster.
const GIVES_WAY_AFTER_MS = 1_000
// Hardly any genuine delivery is larger.
const SMALL_BYTES = 65_536
const LARGE_SHARE = 0.75

/** The share of one body in the budget. It grows while the body arrives. */
export interface BodyShare extends BodyWatch {
  /** The body is complete and is checked now. It keeps its memory until its answer. */
  complete(): void
  /** Releases all memory of the body. */
  release(): void
}

/** The available memory in bytes, and a clock in milliseconds. */
export interface BodyBudgetOptions {
  readonly capacity: number
  readonly now: () => number
}

export interface BodyOrigin {
  /** The value of `now` at which the body must be complete. Default: none. */
  readonly endsAt?: number
  readonly address: string
  /** The announced length in bytes. Default: unlimited. */
  readonly announced?: number
}

/**
 * The memory that all bodies may use together, from their first byte until their answer. Only received bytes count, because
 * anybody can announce any length. A quarter is reserved for bodies that are announced as small.
 *
 * If the memory is full, another body that is still arriving is dropped: the oldest one of the address that holds the most, if
 * this address holds more than the one that needs memory. Otherwise it is the oldest body of all, if it has been arriving for
 * a second.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions
  readonly #arriving = new Set<Share>()
  readonly #heldBy = new Map<string, number>()
  #used = 0

  constructor(options: BodyBudgetOptions) {
    this.#options = options
  }

  /**
   * Opens the share of a body that is about to be read. A single body always fits.
   * @throws overloaded
   */
  open({ address, endsAt = Number.POSITIVE_INFINITY, announced = Number.POSITIVE_INFINITY }: BodyOrigin): BodyShare {
    const { now, capacity } = this.#options
    const share = new Share(
      { since: now(), endsAt, address, capacity: announced < SMALL_BYTES ? capacity : capacity * LARGE_SHARE },
      {
        take: (bytes) => this.#take(bytes, share),
        complete: () => this.#arriving.delete(share),
        release: (bytes) => {
          this.#arriving.delete(share)
          this.#add(address, -bytes)
        },
      },
    )
    this.#arriving.add(share)
    share.onBytes(OVERHEAD_BYTES)
    return share
  }

  /** Ends the reading of bodies that are past their deadline. Call it regularly: one timer per body would cost more. */
  endLate(): void {
    const now = this.#options.now()
    for (const share of this.#arriving) if (share.endsAt <= now) share.giveWay(bodyTooLate())
  }

  #take(bytes: number, share: Share): void {
    for (;;) {
      const others = this.#used - share.bytes
      if (others === 0 || this.#used + bytes <= share.capacity) break
      const yielding = this.#yieldingTo(share, bytes)
      if (yielding === undefined) {
        share.release()
        throw tooMuch()
      }
      yielding.giveWay(tooMuch())
    }
    this.#add(share.address, bytes)
  }

  /** Selects the body to drop for another one that needs this number of bytes more. */
  #yieldingTo(share: Share, bytes: number): Share | undefined {
    return this.#heaviest(this.#heldOf(share.address) + bytes) ?? this.#oldest(share)
  }

  /** The oldest body of the address that holds the most, if it holds more than `than` bytes. */
  #heaviest(than: number): Share | undefined {
    let heaviest: Share | undefined
    let most = than
    for (const one of this.#arriving) {
      const held = this.#heldOf(one.address)
      if (held <= most) continue
      most = held
      heaviest = one
    }
    return heaviest
  }

  /** The oldest body, if it has been arriving for a second and is not `share`. */
  #oldest(share: Share): Share | undefined {
    const [oldest] = this.#arriving
    const isOld = oldest !== undefined && this.#options.now() - oldest.since >= GIVES_WAY_AFTER_MS
    return isOld && oldest !== share ? oldest : undefined
  }

  #heldOf(address: string): number {
    return this.#heldBy.get(address) ?? 0
  }

  #add(address: string, bytes: number): void {
    this.#used += bytes
    const held = this.#heldOf(address) + bytes
    if (held > 0) this.#heldBy.set(address, held)
    else this.#heldBy.delete(address)
  }
}

interface Account {
  readonly take: (bytes: number) => void
  readonly complete: () => void
  readonly release: (bytes: number) => void
}

class Share implements BodyShare {
  readonly since: number
  readonly endsAt: number
  readonly address: string
  /** The memory that all bodies may use together while this one still grows. */
  readonly capacity: number
  bytes = 0
  readonly #account: Account
  #end: ((reason: AppError) => void) | undefined

  constructor(terms: Pick<Share, 'since' | 'endsAt' | 'address' | 'capacity'>, account: Account) {
    this.since = terms.since
    this.endsAt = terms.endsAt
    this.address = terms.address
    this.capacity = terms.capacity
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
    this.#account.release(this.bytes)
    this.bytes = 0
  }
}

function tooMuch(): AppError {
  return overloaded({}, { headers: { 'Retry-After': '1', Connection: 'close' } })
}
