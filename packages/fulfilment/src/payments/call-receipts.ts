import type { OrderDocument, PaidBy, StoredReceipt } from '../orders/stored/order-document.ts'
import type { ReceiptOutbox, Reservation } from '../receipts/claims/new-receipts.ts'
import { type FirstClaim, firstClaimOf, type ReceiptClaim, receiptKey } from '../receipts/claims/receipt-claim.ts'
import type { CommitResult } from './commit-changes.ts'

/** A call that writes receipts: its id, which identifies its claims, and the number of orders that it may pay. */
interface Call {
  readonly id: string
  readonly orders: number
}

/**
 * The receipts that one call writes, and their outcome. At the end, the worker gets those that a majority has stored as
 * claimed. It releases those for which it is unknown whether they are stored.
 */
export class CallReceipts implements Disposable {
  readonly #outbox: ReceiptOutbox
  readonly #call: Call
  readonly #reservation: Reservation | null
  readonly #orders = new Set<string>()
  readonly #open = new Map<string, StoredReceipt>()
  readonly #held: ReceiptClaim[] = []
  #owes = false

  constructor(outbox: ReceiptOutbox, call: Call) {
    this.#outbox = outbox
    this.#call = call
    this.#reservation = outbox.reserve(call.orders)
  }

  /** The claim under which the receipt of an order may be written. Null if it is to be owed. */
  claimFor(orderId: string): FirstClaim | null {
    if (this.#reservation === null) return null
    const { room, until, keyIds } = this.#reservation
    if (!this.#orders.has(orderId) && this.#orders.size >= room) return null
    this.#orders.add(orderId)
    return { heldBy: this.#call.id, until, keyIds }
  }

  note(orderId: string, receipt: StoredReceipt, result: CommitResult): void {
    if (result === 'unconfirmed' || result === 'unknown') this.#open.set(orderId, receipt)
    else this.#open.delete(orderId)
    if (result === 'committed') this.#keep(orderId, receipt)
  }

  /**
   * Notes that a majority has a write of this call to an order. It may be that of an earlier round, without a receipt: the receipt is
   * stored only if its payment is the one that paid, and if it was this call that said so.
   */
  confirm({ _id: orderId, paidBy = [] }: Pick<OrderDocument, '_id' | 'paidBy'>): void {
    const receipt = this.#open.get(orderId)
    const isOwn = (paid: PaidBy): boolean =>
      receiptKey(orderId, paid) === receipt?.key && paid.marker.call === this.#call.id
    if (receipt === undefined || !paidBy.some(isOwn)) return
    this.#open.delete(orderId)
    this.#keep(orderId, receipt)
  }

  #keep(orderId: string, receipt: StoredReceipt): void {
    const claim = firstClaimOf(orderId, receipt)
    if (claim === null) this.#owes = true
    else this.#held.push(claim)
  }

  [Symbol.dispose](): void {
    const claims = [...this.#open].flatMap(([orderId, receipt]) => firstClaimOf(orderId, receipt) ?? [])
    const unconfirmed = claims.length === 0 ? null : { claims, claimId: this.#call.id }
    this.#reservation?.end({ held: this.#held, unconfirmed })
    if (this.#owes) this.#outbox.nudge()
  }
}
