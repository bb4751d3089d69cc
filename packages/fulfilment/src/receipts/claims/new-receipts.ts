import type { ReceiptClaim } from './receipt-claim.ts'
import type { DatabaseClock, UnconfirmedClaims } from './receipt-claims.ts'

/** Takes new receipts: the writer of a receipt can claim it for the worker of this process in the same write. */
export interface ReceiptOutbox {
  /** Room for at most this number of receipts. Null if they must be written as owed. */
  reserve(most: number): Reservation | null
  /** Says that receipts may be owed. */
  nudge(): void
}

export interface Reservation {
  /** The number of receipts that may be claimed, at least 1. */
  readonly room: number
  /** End of their lease, in database time. */
  readonly until: Date
  readonly keyIds: readonly string[]
  /** Ends the reservation. A majority has the `held` receipts as claimed; of the `unconfirmed` nobody knows. */
  end(outcome: { readonly held: readonly ReceiptClaim[]; readonly unconfirmed: UnconfirmedClaims | null }): void
}

/** A claim, and the last time at which its attempt may begin, in milliseconds of `performance.now()`. */
export interface TimedClaim {
  readonly claim: ReceiptClaim
  readonly beginBy: number
}

/** The worker's clock and its limits, in milliseconds. */
export interface NewReceiptsOptions {
  readonly databaseClock: DatabaseClock
  readonly leaseMs: number
  /** From the beginning of the lease to the last beginning of an attempt. */
  readonly beginWithinMs: number
  readonly keyIds: () => readonly string[]
  readonly onArrived: () => void
}

/** The claims and reservations that one process holds in memory. More would wait longer than their lease. */
const MOST_HELD = 400

/** The receipts that were claimed in the write that created them, until the worker takes them. */
export class NewReceipts {
  readonly #options: NewReceiptsOptions
  #reserved = 0
  #held: TimedClaim[] = []
  #unconfirmed: UnconfirmedClaims[] = []

  constructor(options: NewReceiptsOptions) {
    this.#options = options
  }

  /** Reserves room for at most this number of receipts. Null if there is none, or if the time of the database is not known. */
  reserve(most: number): Reservation | null {
    const { databaseClock, leaseMs, beginWithinMs, keyIds } = this.#options
    const now = databaseClock.estimate()
    const room = Math.min(most, MOST_HELD - this.#reserved - this.#held.length)
    if (now === null || room < 1) return null
    const beginBy = performance.now() + beginWithinMs
    this.#reserved += room
    return {
      room,
      until: new Date(now.getTime() + leaseMs),
      keyIds: keyIds(),
      end: ({ held, unconfirmed }) => {
        this.#reserved -= room
        for (const claim of held) this.#held.push({ claim, beginBy })
        if (unconfirmed !== null) this.#unconfirmed.push(unconfirmed)
        if (held.length > 0 || unconfirmed !== null) this.#options.onArrived()
      },
    }
  }

  /** Returns the claims that a majority has, and forgets them. */
  takeHeld(): TimedClaim[] {
    const held = this.#held
    this.#held = []
    return held
  }

  /** Returns the claims of which nobody knows whether they are stored, and forgets them. None of them was sent. */
  takeUnconfirmed(): UnconfirmedClaims[] {
    const unconfirmed = this.#unconfirmed
    this.#unconfirmed = []
    return unconfirmed
  }
}
