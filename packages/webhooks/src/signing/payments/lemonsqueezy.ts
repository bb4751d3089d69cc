import { bodyMac } from '../body-mac.ts'
import { toNumber, toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, type SchemeEvent } from '../scheme-event.ts'

const created = 'order_created'
const types: PaymentTypes = { succeeded: `${created}.paid`, failed: `${created}.failed` }

/** Lemon Squeezy (docs.lemonsqueezy.com, "Signing requests"): HMAC-SHA256 of the body in hexadecimal in `X-Signature`. */
export const lemonsqueezy = jsonSigner(types, toBody, {
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: bodyMac({ header: 'X-Signature', encoding: 'hex' }),
})

function toBody({ at, ...event }: SchemeEvent): object {
  const [name, status = 'pending'] = event.type.split('.')
  const attributes = {
    store_id: 1,
    identifier: toUuid(event.id),
    order_number: 1,
    currency: event.currency,
    status,
    total: event.amount,
    created_at: at,
    updated_at: at,
  }
  return {
    meta: { test_mode: true, event_name: name, webhook_id: toUuid(event.id), custom_data: { order_id: event.orderId } },
    data: { type: 'orders', id: String(toNumber(event.paymentId)), attributes },
  }
}
