import { createHash } from 'node:crypto'
import type { PaymentKey } from '../orders/stored/order-document.ts'

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
