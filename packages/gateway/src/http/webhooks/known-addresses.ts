import { UNSIGNED } from '@oncehook/webhooks/providers'
import type { Accepted } from '../../receive/receive-webhook.ts'

const MOST = 10_000

/**
 * The addresses that have delivered something new and authentic. There are at most 20,000: the ones that were not seen for
 * the longest time are forgotten.
 */
export class KnownAddresses {
  #newer = new Set<string>()
  #older = new Set<string>()

  /** Whether an address is known. */
  has(address: string): boolean {
    return this.#newer.has(address) || this.#older.has(address)
  }

  /** Remembers an address. */
  add(address: string): void {
    if (this.#newer.has(address)) return
    if (this.#newer.size >= MOST) {
      this.#older = this.#newer
      this.#newer = new Set()
    }
    this.#newer.add(address)
  }
}

/**
 * Whether a delivery proves that its address belongs to the provider. If nothing is signed, anybody can deliver one of
 * their payments, so only a payment that succeeded counts.
 */
export function provesAddress(accepted: Accepted): boolean {
  if (!('events' in accepted)) return false
  if (accepted.secretId !== UNSIGNED) return true
  return accepted.events.some(({ event, outcome }) => outcome === 'recorded' && event.type === 'payment.succeeded')
}
