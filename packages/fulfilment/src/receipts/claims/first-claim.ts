import type { StoredReceipt } from '../../orders/stored/order-document.ts'
import type { ReceiptClaim } from './receipt-claim.ts'

/** A claim on receipts that are not written yet. */
export interface FirstClaim {
  /** Identifies the claim. */
  readonly heldBy: string
  /** End of the lease, in database time. */
  readonly until: Date
  /** The ids of the encryption keys that are there. A receipt with an address of another key is not claimed. */
  readonly keyIds: readonly string[]
}

const FIRST_FENCE = 1

/** A new receipt as it is written if it is claimed in the same write; unchanged if it is not to be claimed. */
export function claimNew(owed: StoredReceipt, claim: FirstClaim | null): StoredReceipt {
  const { email } = owed
  const isReadable = typeof email !== 'object' || email === null || claim?.keyIds.includes(email.key)
  if (claim === null || !isReadable) return owed
  const { heldBy, until } = claim
  return { ...owed, state: 'sending', fence: FIRST_FENCE, heldBy, dueAt: until, attempts: 1 }
}

/** The claim of a receipt that was written as claimed; null if it was written as owed. */
export function firstClaimOf(orderId: string, written: StoredReceipt): ReceiptClaim | null {
  if (written.state !== 'sending') return null
  return { orderId, receipt: { ...written, state: 'owed', fence: 0, attempts: 0 }, fence: written.fence }
}
