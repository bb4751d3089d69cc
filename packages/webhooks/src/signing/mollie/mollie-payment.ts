import { toDecimal } from '@oncehook/kernel/money/currencies'
import type { PaymentEvent } from '../payment-event.ts'

/** A payment as Mollie's API shows it (docs.mollie.com/reference/get-payment). */
export function writeMolliePayment(event: PaymentEvent, status: string): object {
  const at = new Date(event.occurredAt).toISOString()
  return {
    resource: 'payment',
    id: event.paymentId,
    mode: 'test',
    createdAt: at,
    amount: { value: toDecimal(event.amount, event.currency), currency: event.currency },
    description: `Order ${event.orderId}`,
    method: 'ideal',
    metadata: { order_id: event.orderId },
    status,
    [`${status}At`]: at,
  }
}
