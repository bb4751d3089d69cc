import { toNumber, toUuid } from '../../made-ids.ts'
import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import { bodyMac } from '../body-mac.ts'
import type { Signer } from '../signer.ts'
import { writeJson } from '../write-json.ts'

const created = 'order_created'
const types: PaymentTypes = { succeeded: `${created}.paid`, failed: `${created}.failed` }

/** Lemon Squeezy (docs.lemonsqueezy.com, "Signing requests"): HMAC-SHA256 of the body in hexadecimal in `X-Signature`. */
export const lemonsqueezy: Signer = {
  types,
  settings: [],
  writeEvent,
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: bodyMac({ header: 'X-Signature', encoding: 'hex' }),
}

function writeEvent(event: PaymentEvent): Uint8Array {
  const [name, status = 'pending'] = toSchemeType(types, event.type).split('.')
  const at = new Date(event.occurredAt).toISOString()
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
  return writeJson({
    meta: { test_mode: true, event_name: name, webhook_id: toUuid(event.id), custom_data: { order_id: event.orderId } },
    data: { type: 'orders', id: String(toNumber(event.paymentId)), attributes },
  })
}
