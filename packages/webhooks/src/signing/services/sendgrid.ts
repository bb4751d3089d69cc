import { sign } from 'node:crypto'
import { writeJson } from '../json-body.ts'
import type { PaymentEvent, PaymentTypes } from '../payment-event.ts'
import { readPrivateKey } from '../private-key.ts'
import { mapToPayments, toSchemeEvent } from '../scheme-event.ts'
import { type Signer, toSeconds } from '../signer.ts'

const types: PaymentTypes = { succeeded: 'delivered', failed: 'dropped' }

/**
 * SendGrid (twilio.com/docs/sendgrid, "Event Webhook security features"): ECDSA on P-256 with SHA-256, DER in base64, over
 * timestamp and body, one right after the other. The secret is the PEM of the private key. The event is that of a
 * mail, which carries the order among its custom arguments.
 */
export const sendgrid: Signer = {
  types,
  settings: [],
  needsPrivateKey: true,
  mapping: mapToPayments(types, '/order_id'),
  writeEvent: (event) => writeEvents([event]),
  batch: { most: 5_000, writeEvents },
  sign({ body, secret, now }) {
    const timestamp = toSeconds(now)
    const signed = Buffer.concat([Buffer.from(timestamp), body])
    return [
      [
        'X-Twilio-Email-Event-Webhook-Signature',
        sign('sha256', signed, readPrivateKey(secret, 'ec')).toString('base64'),
      ],
      ['X-Twilio-Email-Event-Webhook-Timestamp', timestamp],
    ]
  },
}

function writeEvents(events: readonly PaymentEvent[]): Uint8Array {
  return writeJson(events.map(toItem))
}

function toItem(event: PaymentEvent): object {
  const { type, seconds } = toSchemeEvent(event, types)
  return {
    email: 'customer@example.com',
    timestamp: seconds,
    'smtp-id': `<${event.paymentId}@example.com>`,
    event: type,
    sg_event_id: event.id,
    sg_message_id: event.paymentId,
    order_id: event.orderId,
  }
}
