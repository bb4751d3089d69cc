import type { SettledReceipt } from './claims/receipt-claim.ts'

const LOOK_AGAIN_MS = 30_000

/** What a search can find: the number of receipts, and their encryption keys. */
export interface KeyLook {
  readonly room: number
  /** The ids of the keys that are there. */
  readonly keyIds: readonly string[]
}

/**
 * Decides when to look for receipts that wait for an encryption key: every 30 s, when the keys change, and without a
 * pause as long as a look finds some that can be read. A key that is there may still not be the one that encrypted, so
 * not every look finds some. Times are milliseconds of one clock.
 */
export class KeyWaits {
  #lookAt = 0
  #knownIds = ''

  /** Whether to look now. Calling this counts as a look. */
  mayLook(now: number, { room, keyIds }: KeyLook): boolean {
    if (room < 1 || keyIds.length === 0) return false
    const ids = JSON.stringify(keyIds)
    if (now < this.#lookAt && ids === this.#knownIds) return false
    this.#knownIds = ids
    this.#lookAt = now + LOOK_AGAIN_MS
    return true
  }

  /** Records the outcomes of a batch. */
  observe(settled: readonly SettledReceipt[]): void {
    const isReadable = ({ claim, settlement }: SettledReceipt): boolean =>
      typeof claim.receipt.dueAt === 'string' && settlement.state !== 'waiting'
    if (settled.some(isReadable)) this.#lookAt = 0
  }
}
