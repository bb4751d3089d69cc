import type { StoredReceipt } from '../../orders/stored/order-document.ts'

/** A receipt that only this worker may send until its lease ends. */
export interface ReceiptClaim {
  readonly orderId: string
  /** The receipt before the claim. */
  readonly receipt: StoredReceipt
  /** Fencing token of the claim. Later claims have a higher one. */
  readonly fence: number
}

/** The outcome of a claimed receipt. */
export type Settlement = SingleSettlement | WaitSettlement

/** An outcome that does not depend on a key. */
export type SingleSettlement =
  | { readonly state: 'sent' }
  /** Not attempted: the receipt returns to its previous state and is due at once. */
  | { readonly state: 'put_back'; readonly as: StoredReceipt['state'] }
  | { readonly state: 'owed'; readonly code: string; readonly waitMs: number }
  | { readonly state: 'parked'; readonly code: string }

/** Not attempted: the key of this id, which encrypts the address, is missing. `attempts`: those before the claim. */
interface WaitSettlement {
  readonly state: 'waiting'
  readonly keyId: string
  readonly attempts: number
}

/** A claim with its outcome. */
export interface SettledReceipt {
  readonly claim: ReceiptClaim
  readonly settlement: Settlement
}
