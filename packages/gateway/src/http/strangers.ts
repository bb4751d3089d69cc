import type { Asker } from '../providers/shared-questions.ts'
import type { KnownAddresses } from './known-addresses.ts'
import type { RateLimit } from './rate-limit.ts'

/** What strangers may ask for. */
export interface StrangersOptions {
  /** Questions of each address. */
  readonly limit: RateLimit
  /** The addresses that are no strangers. */
  readonly known: Pick<KnownAddresses, 'has'>
}

/** Bounds how often each address may have a provider asked for which there is only a stranger's word. */
export class Strangers {
  readonly #options: StrangersOptions

  constructor(options: StrangersOptions) {
    this.#options = options
  }

  /**
   * Lets an address ask, and returns who that is.
   * @throws rateLimited
   */
  admit(address: string): Asker {
    const { limit, known } = this.#options
    if (known.has(address)) return 'known'
    const allowance = limit.count(address)
    if (allowance.remaining < 0) throw limit.refusal(allowance, { reason: 'asked_too_often' })
    return 'stranger'
  }
}
