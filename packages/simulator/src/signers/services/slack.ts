import { type PaymentEvent, type PaymentTypes, toSchemeType } from '../../payment-event.ts'
import type { Signer } from '../signer.ts'
import { signVersioned } from '../versioned-mac.ts'
import { writeJson } from '../write-json.ts'

const types: PaymentTypes = { succeeded: 'reaction_added', failed: 'reaction_removed' }

/**
 * Slack (docs.slack.dev, "Verifying requests from Slack"): HMAC-SHA256 in hexadecimal over `v0:`, time, colon and body.
 * The event is a reaction to a message in the channel of an order.
 */
export const slack: Signer = {
  types,
  settings: [],
  mapping: {
    events: { [types.succeeded]: 'payment.succeeded', [types.failed]: 'payment.failed' },
    orderReference: '/event/item/channel',
  },
  writeEvent,
  sign: signVersioned('X-Slack-Signature', 'X-Slack-Request-Timestamp'),
}

function writeEvent(event: PaymentEvent): Uint8Array {
  const seconds = Math.floor(event.occurredAt / 1000)
  return writeJson({
    token: 'unused',
    team_id: 'T0000000001',
    api_app_id: 'A0000000001',
    event: {
      type: toSchemeType(types, event.type),
      user: event.paymentId,
      reaction: 'white_check_mark',
      item: { type: 'message', channel: event.orderId, ts: `${seconds}.000100` },
      event_ts: `${seconds}.000200`,
    },
    type: 'event_callback',
    event_id: event.id,
    event_time: seconds,
  })
}
