import type { Clock } from '@oncehook/kernel/clock'
import { type Asker, overloaded } from '@oncehook/webhooks/providers'
import type { RateLimit } from '../rate-limit.ts'
import type { KnownAddresses } from './known-addresses.ts'

/** The limits of strangers. */
export interface StrangersOptions {
  /** The limit of objects per address. */
  readonly limit: RateLimit
  /** The length of that limit's window, in seconds. */
  readonly windowSeconds: number
  /** The number of calls per address that may wait at once. */
  readonly atOnce: number
  readonly clock: Clock
  /** The addresses that are not strangers. */
  readonly known: Pick<KnownAddresses, 'has'>
}

/** A call for which a provider must be asked. */
export interface StrangersCall {
  readonly address: string
  /** The objects to ask about. The same object always has the same text. */
  readonly objects: readonly string[]
}

// Beyond this number each call counts as if it were for another object.
const MOST_OBJECTS = 20_000

/**
 * Limits the number of objects about which each unknown address can make us ask a provider. Calls for the same object share
 * their questions, so an object counts once per window. Only a few calls of an address may wait at the same time.
 */
export class Strangers {
  readonly #options: StrangersOptions
  readonly #underWay = new Map<string, number>()
  #seen = new Set<string>()
  #window = 0

  constructor(options: StrangersOptions) {
    this.#options = options
  }

  /**
   * Calls `put` with the kind of asker, if the address may ask.
   * @throws rateLimited, overloaded, and any error of `put`
   */
  async ask<T>({ address, objects }: StrangersCall, put: (asker: Asker) => Promise<T>): Promise<T> {
    const { atOnce, known } = this.#options
    if (known.has(address)) return put('known')
    const underWay = this.#underWay.get(address) ?? 0
    if (underWay >= atOnce) {
      throw overloaded({ reason: 'asked_too_much' }, { headers: { 'Retry-After': '1' } })
    }
    for (const object of objects) this.#count(address, object)
    this.#underWay.set(address, underWay + 1)
    try {
      return await put('stranger')
    } finally {
      this.#leave(address)
    }
  }

  #count(address: string, object: string): void {
    const { limit, clock, windowSeconds } = this.#options
    const window = Math.floor(clock.now() / 1_000 / windowSeconds)
    if (window !== this.#window) this.#seen = new Set()
    this.#window = window
    const key = `${address} ${object}`
    if (this.#seen.has(key)) return
    const allowance = limit.count(address)
    if (allowance.remaining < 0) throw limit.refusal(allowance, { reason: 'asked_too_often' })
    if (this.#seen.size < MOST_OBJECTS) this.#seen.add(key)
  }

  #leave(address: string): void {
    const left = (this.#underWay.get(address) ?? 1) - 1
    if (left > 0) this.#underWay.set(address, left)
    else this.#underWay.delete(address)
  }
}
