import type { Clock } from '@oncehook/kernel/clock'
import { rateLimited } from '@oncehook/kernel/error-codes'
import type { AppError } from '@oncehook/kernel/errors'
import type { KnownAddresses } from './known-addresses.ts'

/** The dependencies of the budget. */
export interface CheckBudgetOptions {
  readonly clock: Clock
  /** The addresses that have delivered something new and authentic. */
  readonly known: Pick<KnownAddresses, 'has'>
  /** False: nothing is ever refused. */
  readonly isLimited: boolean
}

/** The processor time that some senders may use, in milliseconds per second. */
interface Share {
  /** The policy's name in the headers. */
  readonly name: string
  readonly msPerSecond: number
}

// A tenth of a core for the forged deliveries of one address.
const STRANGER: Share = { name: 'work', msPerSecond: 100 }
// Strangers can share the address of a provider: behind a NAT, or behind a proxy that TRUSTED_PROXY_HOPS does not count.
const KNOWN: Share = { name: 'work', msPerSecond: 300 }
// A quarter of a core for the forged deliveries of all unknown addresses together.
const STRANGERS: Share = { name: 'strangers', msPerSecond: 250 }

const MOST_ADDRESSES = 20_000
// Unknown addresses beyond this number share one account. The number of known addresses is bounded.
const OVERFLOW = '\u0000overflow'

/**
 * Limits the processor time for deliveries that are not authentic: a share per address, and a share for all unknown
 * addresses together. Used time is returned evenly, not all at once at the end of a window, so that a flood is paced. Small
 * deliveries are rejected only from unknown addresses, once these have used twice their common share.
 */
export class CheckBudget {
  readonly #options: CheckBudgetOptions
  readonly #accounts = new Map<string, Account>()
  readonly #strangers = new Account()
  #sweptAt = 0

  constructor(options: CheckBudgetOptions) {
    this.#options = options
  }

  /** The error for a delivery for which no time is left, by its address and whether it is small; otherwise null. */
  refusalOf(address: string, isSmall: boolean): AppError | null {
    const { clock, known, isLimited } = this.#options
    if (!isLimited) return null
    const now = clock.now()
    if (isSmall) {
      return this.#strangers.isSpentTwice(STRANGERS, now) && !known.has(address) ? refusalBy(STRANGERS) : null
    }
    const isKnown = known.has(address)
    const share = isKnown ? KNOWN : STRANGER
    if (this.#accountOf(address, isKnown)?.isSpent(share, now) === true) return refusalBy(share)
    return !isKnown && this.#strangers.isSpent(STRANGERS, now) ? refusalBy(STRANGERS) : null
  }

  /** Charges an address for the check of a delivery that was not authentic. */
  charge(address: string, ms: number): void {
    const { clock, known, isLimited } = this.#options
    if (!isLimited) return
    const now = clock.now()
    const isKnown = known.has(address)
    this.#openAccount(address, { isKnown, now }).charge(ms, isKnown ? KNOWN : STRANGER, now)
    if (!isKnown) this.#strangers.charge(ms, STRANGERS, now)
  }

  #accountOf(address: string, isKnown: boolean): Account | undefined {
    const isShared = !isKnown && this.#accounts.size >= MOST_ADDRESSES
    return this.#accounts.get(address) ?? (isShared ? this.#accounts.get(OVERFLOW) : undefined)
  }

  #openAccount(address: string, { isKnown, now }: { readonly isKnown: boolean; readonly now: number }): Account {
    const found = this.#accounts.get(address)
    if (found !== undefined) return found
    this.#sweep(now)
    const key = !isKnown && this.#accounts.size >= MOST_ADDRESSES ? OVERFLOW : address
    const account = this.#accounts.get(key) ?? new Account()
    this.#accounts.set(key, account)
    return account
  }

  /** Removes the accounts that owe nothing, at most once a second, if there are too many accounts. */
  #sweep(now: number): void {
    if (this.#accounts.size < MOST_ADDRESSES || Math.abs(now - this.#sweptAt) < 1_000) return
    this.#sweptAt = now
    for (const [address, account] of this.#accounts)
      if (account.isSettled(STRANGER, now)) this.#accounts.delete(address)
  }
}

const MOST_WORK_MS = 20
const SMALLEST_WORK_MS = 1
// Twice the time of the most expensive scheme.
const COSTLY_BYTES_PER_MS = 4_096

/**
 * Estimates the processor time of a body's check from the time that passed, in milliseconds. It is never more than a body of
 * this length can need: the machine may have done other work, and a stall is not the sender's fault.
 */
export function workOf(passedMs: number, bytes: number): number {
  return Math.min(passedMs, SMALLEST_WORK_MS + bytes / COSTLY_BYTES_PER_MS, MOST_WORK_MS)
}

/** The used time that is not returned yet. */
class Account {
  #ms = 0
  #at = 0

  /** A share is spent if as much is owed as it grants per second. */
  isSpent(share: Share, now: number): boolean {
    return this.#owed(share, now) >= share.msPerSecond
  }

  isSpentTwice(share: Share, now: number): boolean {
    return this.#owed(share, now) >= 2 * share.msPerSecond
  }

  isSettled(share: Share, now: number): boolean {
    return this.#owed(share, now) === 0
  }

  /** An account owes at most three seconds of its share, so that a flood is not remembered for longer. */
  charge(ms: number, share: Share, now: number): void {
    this.#ms = Math.min(this.#owed(share, now) + ms, 3 * share.msPerSecond)
    this.#at = now
  }

  /** If the clock is set back, no time is returned. Counting continues from the new time. */
  #owed({ msPerSecond }: Share, now: number): number {
    this.#at = Math.min(this.#at, now)
    return Math.max(0, this.#ms - ((now - this.#at) * msPerSecond) / 1_000)
  }
}

function refusalBy({ name, msPerSecond }: Share): AppError {
  return rateLimited(
    {},
    {
      headers: {
        'RateLimit-Policy': `"${name}";q=${msPerSecond};w=1`,
        RateLimit: `"${name}";r=0;t=1`,
        'Retry-After': '1',
      },
    },
  )
}
