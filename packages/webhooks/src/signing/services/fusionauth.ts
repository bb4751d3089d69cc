import { createHash, createHmac } from 'node:crypto'
import { toUuid } from '../made-ids.ts'
import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'

const types: PaymentTypes = {
  succeeded: 'user.registration.create.complete',
  failed: 'user.registration.delete.complete',
}

/**
 * FusionAuth (fusionauth.io/docs, "Signing webhooks"): a JWT, HS256, whose claim `request_body_sha256` is the base64 of
 * the body's SHA-256. The event is a registration for a purchase.
 */
export const fusionauth = jsonSigner(types, toBody, {
  mapping: mapToPayments(types, '/event/registration/data/order_id'),
  paymentIdOf: ({ paymentId }) => toUuid(paymentId),
  sign({ body, secret }) {
    const claims = { request_body_sha256: createHash('sha256').update(body).digest('base64') }
    const text = `${toPart({ alg: 'HS256', typ: 'JWT', kid: 'simulator' })}.${toPart(claims)}`
    const signature = createHmac('sha256', secret).update(text).digest('base64url')
    return [['X-FusionAuth-Signature-JWT', `${text}.${signature}`]]
  },
})

function toPart(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function toBody(event: SchemeEvent): object {
  return {
    event: {
      id: toUuid(event.id),
      createInstant: Math.floor(event.occurredAt),
      tenantId: toUuid('tenant'),
      type: event.type,
      user: { id: toUuid(event.paymentId), active: true, verified: true },
      registration: { applicationId: toUuid('application'), data: { order_id: event.orderId }, roles: ['customer'] },
    },
  }
}
