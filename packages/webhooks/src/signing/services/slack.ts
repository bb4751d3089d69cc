import type { PaymentTypes } from '../payment-event.ts'
import { jsonSigner, mapToPayments, type SchemeEvent } from '../scheme-event.ts'
import { signVersioned } from '../versioned-mac.ts'

const types: PaymentTypes = { succeeded: 'reaction_added', failed: 'reaction_removed' }

/**
 * Slack (docs.slack.dev, "Verifying requests from Slack"): HMAC-SHA256 in hexadecimal over `v0:`, time, colon and body.
 * The event is a reaction to a message in the channel of an order.
 */
export const slack = jsonSigner(types, toBody, {
  mapping: mapToPayments(types, '/event/item/channel'),
  sign: signVersioned('X-Slack-Signature', 'X-Slack-Request-Timestamp'),
})

function toBody({ seconds, ...event }: SchemeEvent): object {
  return {
    token: 'unused',
    team_id: 'T0000000001',
    api_app_id: 'A0000000001',
    event: {
      type: event.type,
      user: event.paymentId,
      reaction: 'white_check_mark',
      item: { type: 'message', channel: event.orderId, ts: `${seconds}.000100` },
      event_ts: `${seconds}.000200`,
    },
    type: 'event_callback',
    event_id: event.id,
    event_time: seconds,
  }
}
