import { toNumber } from '../../made-ids.ts'
import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import { bodyMac } from '../body-mac.ts'
import { readTextSetting, type Signer } from '../signer.ts'
import { writeJson } from '../write-json.ts'

const purchase = 'marketplace_purchase'
const types: PaymentTypes = { succeeded: `${purchase}.purchased`, failed: `${purchase}.cancelled` }
const signBody = bodyMac({ header: 'X-Hub-Signature-256', encoding: 'hex', prefix: 'sha256=' })

/**
 * GitHub (docs.github.com, "Validating webhook deliveries"): HMAC-SHA256 of the body in hexadecimal after `sha256=`. The
 * event is a marketplace purchase. The setting `event` sets another type in the unsigned header.
 */
export const github: Signer = {
  types,
  settings: ['event'],
  mapping: {
    events: { [types.succeeded]: 'payment.succeeded', [types.failed]: 'payment.failed' },
    orderReference: `/${purchase}/account/login`,
  },
  writeEvent,
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: (request) => [
    ...signBody(request),
    ['X-GitHub-Event', readTextSetting(request.settings, 'event') ?? purchase],
    ['X-GitHub-Delivery', request.eventId ?? 'simulated'],
  ],
}

function writeEvent(event: PaymentEvent): Uint8Array {
  return writeJson({
    action: toSchemeType(types, event.type).replace(`${purchase}.`, ''),
    effective_date: new Date(event.occurredAt).toISOString(),
    sender: { login: 'oncehook', id: toNumber(event.paymentId), type: 'User' },
    [purchase]: {
      account: { type: 'Organization', id: toNumber(event.orderId), login: event.orderId },
      billing_cycle: 'monthly',
      unit_count: 1,
      plan: { id: 435, name: event.id, monthly_price_in_cents: event.amount, price_model: 'flat-rate' },
    },
  })
}
