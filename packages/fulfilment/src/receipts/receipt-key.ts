import { createHash } from 'node:crypto'
import type { PaymentKey } from '../orders/order-document.ts'

/** The key of the receipt for this payment of this order: always the same, so that no retry makes a second receipt. */
export function receiptKey(orderId: string, payment: PaymentKey): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([orderId, payment.provider, payment.id]))
    .digest('hex')
  return `rcpt_${digest.slice(0, 32)}`
}
