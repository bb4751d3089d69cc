import type { Clock } from '@oncehook/kernel/clock'
import { overloaded } from '@oncehook/webhooks/errors'
import type { Asker } from '@oncehook/webhooks/shared-questions'
import type { KnownAddresses } from './known-addresses.ts'
import type { RateLimit } from './rate-limit.ts'

/** What strangers may ask for. */
export interface StrangersOptions {
  /** Objects of each address. */
  readonly limit: RateLimit
  /** The length of a window of that limit. */
  readonly windowSeconds: number
  /** Calls of an address that may wait at once; 0 means no limit. */
  readonly atOnce: number
  readonly clock: Clock
  /** The addresses that are no strangers. */
  readonly known: Pick<KnownAddresses, 'has'>
}

/** A call for which a provider has to be asked. */
export interface StrangersCall {
  readonly address: string
  /** What the provider is asked about; the same object has the same text. */
  readonly objects: readonly string[]
}

// Beyond it each call counts, as if it were for another object.
const MOST_OBJECTS = 20_000

/**
 * Bounds for how many objects each address may have a provider asked on nobody's word but its own. Calls for the same object
 * share their questions, so in a window it counts once; a few of an address may wait at the same time.
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
   * Lets an address ask; `put` is told who that is.
   * @throws rateLimited, overloaded, and what `put` throws
   */
  async ask<T>({ address, objects }: StrangersCall, put: (asker: Asker) => Promise<T>): Promise<T> {
    const { atOnce, known } = this.#options
    if (known.has(address)) return put('known')
    const underWay = this.#underWay.get(address) ?? 0
    if (atOnce > 0 && underWay >= atOnce) {
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
