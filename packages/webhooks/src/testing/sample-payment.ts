import type { PaymentEvent } from '../signing/payment-event.ts'

/** A successful payment of 19.99 EUR for the order `ord_1`. */
export const SAMPLE_PAYMENT: PaymentEvent = {
  id: 'evt_1',
  type: 'payment.succeeded',
  paymentId: 'pi_1',
  orderId: 'ord_1',
  amount: 1999,
  currency: 'EUR',
  occurredAt: 0,
}
