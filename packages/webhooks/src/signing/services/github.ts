import { bodyMac } from '../body-mac.ts'
import { toNumber } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'
import { readTextSetting } from '../signer.ts'

const purchase = 'marketplace_purchase'
const types: PaymentTypes = { succeeded: `${purchase}.purchased`, failed: `${purchase}.cancelled` }
const signBody = bodyMac({ header: 'X-Hub-Signature-256', encoding: 'hex', prefix: 'sha256=' })

/**
 * GitHub (docs.github.com, "Validating webhook deliveries"): HMAC-SHA256 of the body in hexadecimal after `sha256=`. The
 * event is a marketplace purchase. The setting `event` sets another type in the unsigned header.
 */
export const github = jsonSigner(types, toBody, {
  settings: ['event'],
  mapping: mapToPayments(types, `/${purchase}/account/login`),
  paymentIdOf: ({ paymentId }) => String(toNumber(paymentId)),
  sign: (request) => [
    ...signBody(request),
    ['X-GitHub-Event', readTextSetting(request.settings, 'event') ?? purchase],
    ['X-GitHub-Delivery', request.eventId ?? 'simulated'],
  ],
})

function toBody(event: SchemeEvent): object {
  return {
    action: event.type.replace(`${purchase}.`, ''),
    effective_date: event.at,
    sender: { login: 'oncehook', id: toNumber(event.paymentId), type: 'User' },
    [purchase]: {
      account: { type: 'Organization', id: toNumber(event.orderId), login: event.orderId },
      billing_cycle: 'monthly',
      unit_count: 1,
      plan: { id: 435, name: event.id, monthly_price_in_cents: event.amount, price_model: 'flat-rate' },
    },
  }
}
