import type { OrderContent } from '../orders/order.ts'
import type { PaymentEvent } from '../payments/payment-event.ts'

/** A sample order over EUR 3.00, with the given properties replaced. */
export function sampleOrder(members: Partial<OrderContent> = {}): OrderContent {
  const items = [{ sku: 'book', quantity: 2, unitAmount: 150 }]
  return { customerId: 'cus_1', currency: 'EUR', items, ...members }
}

/** A sample successful payment of the sample order's amount, with the given properties replaced. */
export function sampleEvent(members: Partial<PaymentEvent> & Pick<PaymentEvent, 'orderId'>): PaymentEvent {
  const payment = {
    type: 'payment.succeeded',
    paymentId: `pay_${members.orderId}`,
    amount: 300,
    currency: 'EUR',
  } as const
  return { provider: 'acme', eventId: `evt_${members.orderId}`, ifMatch: '"1"', ...payment, ...members }
}
