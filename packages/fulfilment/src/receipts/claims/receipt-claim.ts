import { createHash } from 'node:crypto'
import type { PaymentKey, StoredReceipt } from '../../orders/stored/order-document.ts'

/** A receipt that only this worker may send until its lease ends. */
export interface ReceiptClaim {
  readonly orderId: string
  /** The receipt before the claim. */
  readonly receipt: StoredReceipt
  /** Fencing token of the claim. Later claims have a higher one. */
  readonly fence: number
}

export type Settlement =
  | { readonly state: 'sent' }
  /** Not attempted: the receipt returns to its previous state and is due at once. */
  | { readonly state: 'put_back'; readonly as: StoredReceipt['state'] }
  | { readonly state: 'owed'; readonly code: string; readonly waitMs: number }
  | { readonly state: 'parked'; readonly code: string }

export interface SettledReceipt {
  readonly claim: ReceiptClaim
  readonly settlement: Settlement
}

/** A claim on receipts that are not written yet. */
export interface FirstClaim {
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

/**
 * The key of the receipt for this payment of this order. It is deterministic, so a retry never creates a second
 * receipt.
 */
export function receiptKey(orderId: string, payment: PaymentKey): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([orderId, payment.provider, payment.id]))
    .digest('hex')
  return `rcpt_${digest.slice(0, 32)}`
}
