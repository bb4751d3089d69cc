import type { AppError } from '@oncehook/kernel/errors'
import type { BodyWatch } from '@oncehook/kernel/http/raw-body'
import { overloaded } from '@oncehook/webhooks/errors'
import { bodyTooLate } from './answer-deadline.ts'

// What a body costs beside its bytes: the request, its headers, the record.
const OVERHEAD_BYTES = 4_096
// Any network brings a genuine delivery in less.
const GIVES_WAY_AFTER_MS = 1_000
// Hardly a genuine delivery is larger.
const SMALL_BYTES = 65_536
const LARGE_SHARE = 0.75

/** What one body takes of the budget; it watches while the body arrives. */
export interface BodyShare extends BodyWatch {
  /** The body is whole and will be checked now: it stays until its answer. */
  complete(): void
  /** Gives everything back. */
  release(): void
}

/** How much memory there is in bytes, and the time in milliseconds. */
export interface BodyBudgetOptions {
  readonly capacity: number
  readonly now: () => number
  /** Whether an address delivered something authentic: its bodies do not give way to those of others. */
  readonly isKnown: (address: string) => boolean
}

/** Whose body it is. */
export interface BodyOrigin {
  /** The instant of `now` at which it has to be whole. Default: none. */
  readonly endsAt?: number
  /** Where it comes from. */
  readonly address: string
  /** The bytes that were announced. Default: as many as there may be. */
  readonly announced?: number
}

/**
 * Memory that bodies may take together, from their first byte until their answer. What has arrived counts, for anybody
 * can announce anything. A quarter is kept for bodies that were announced as small. Where it is full, a body that is still
 * arriving, or waits for its check, gives way, of unknown addresses first: the oldest one of the address that holds most, if that is more than the
 * one that needs memory holds, or if only that one is known; else the oldest body of all, once it has been arriving for a
 * second. Bodies of known addresses give way to those of other known addresses only.
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
   * Opens the share of a body that is about to be read. One body always fits.
   * @throws overloaded
   */
  open({ address, endsAt = Number.POSITIVE_INFINITY, announced = Number.POSITIVE_INFINITY }: BodyOrigin): BodyShare {
    const { now, capacity } = this.#options
    const share = new Share(
      { since: now(), endsAt, address, capacity: announced < SMALL_BYTES ? capacity : capacity * LARGE_SHARE },
      {
        take: (bytes) => this.#take(bytes, share),
        complete: () => this.#arriving.delete(share),
        giveBack: (bytes) => {
          this.#arriving.delete(share)
          this.#add(address, -bytes)
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

  /** The body that gives way to another one that needs so many bytes more. */
  #yieldingTo(share: Share, bytes: number): Share | undefined {
    const { isKnown } = this.#options
    const held = this.#heldOf(share.address) + bytes
    const arriving = [...this.#arriving]
    const strangers = arriving.filter(({ address }) => !isKnown(address))
    if (!isKnown(share.address)) return this.#heaviest(strangers, held) ?? this.#oldest(strangers, share)
    return this.#heaviest(strangers, 0) ?? this.#heaviest(arriving, held) ?? this.#oldest(arriving, share)
  }

  /** The oldest body of the address that holds most, if it holds more than that. */
  #heaviest(candidates: readonly Share[], than: number): Share | undefined {
    let heaviest: Share | undefined
    let most = than
    for (const one of candidates) {
      const held = this.#heldOf(one.address)
      if (held <= most) continue
      most = held
      heaviest = one
    }
    return heaviest
  }

  /** The oldest body, if it has been arriving for long and is another one. */
  #oldest([oldest]: readonly Share[], share: Share): Share | undefined {
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
  readonly giveBack: (bytes: number) => void
}

class Share implements BodyShare {
  readonly since: number
  readonly endsAt: number
  readonly address: string
  /** How much all bodies may take together for this one to grow. */
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
    this.#account.giveBack(this.bytes)
    this.bytes = 0
  }
}

function tooMuch(): AppError {
  return overloaded({}, { headers: { 'Retry-After': '1', Connection: 'close' } })
}
