import { createHmac } from 'node:crypto'
import type { PaymentTypes } from '../payment-event.ts'
import { toUnitsOf } from '../provider-units.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'
import { type HeaderLine, type SigningRequest, toSeconds } from '../signer.ts'

const types: PaymentTypes = {
  succeeded: 'payment_intent.succeeded',
  failed: 'payment_intent.payment_failed',
}

/**
 * Stripe (docs.stripe.com/webhooks, "Verify webhook signatures manually"): HMAC-SHA256 over `timestamp.body`, the key
 * is the whole `whsec_…` text. The body is a snapshot event around a payment intent.
 */
export const stripe = jsonSigner(types, toBody, { sign: signStripe })

function signStripe({ body, secret, now }: SigningRequest): HeaderLine[] {
  const timestamp = toSeconds(now)
  const signature = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')
  return [['stripe-signature', `t=${timestamp},v1=${signature}`]]
}

function toBody(event: SchemeEvent): object {
  return {
    id: event.id,
    object: 'event',
    api_version: '2026-06-30',
    created: event.seconds,
    data: { object: toPaymentIntent(event) },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: event.type,
  }
}

function toPaymentIntent(event: SchemeEvent): object {
  const succeeded = event.type === types.succeeded
  const amount = toUnitsOf('Stripe', event.amount, event.currency)
  return {
    id: event.paymentId,
    object: 'payment_intent',
    amount,
    amount_received: succeeded ? amount : 0,
    created: event.seconds,
    currency: event.currency.toLowerCase(),
    last_payment_error: event.failed ? cardDeclined : null,
    livemode: false,
    metadata: { order_id: event.orderId },
    status: succeeded ? 'succeeded' : 'requires_payment_method',
  }
}

const cardDeclined = {
  type: 'card_error',
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Your card was declined.',
}
