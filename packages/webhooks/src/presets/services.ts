// Providers without payments, as data. Those with a name of their own have code too, below schemes/services.
import { NO_PAYMENTS } from '../events/permits.ts'
import type { Preset } from './preset.ts'

const V0 = { prefix: 'v0=', signedText: 'v0:{timestamp}:{body}' } as const

/** docs.slack.dev/authentication/verifying-requests-from-slack */
export const SLACK: Preset = {
  name: 'slack',
  signature: { header: 'X-Slack-Signature', timestampHeader: 'X-Slack-Request-Timestamp', ...V0 },
  read: { id: '/event_id', type: '/event/type', object: '/event/user', time: '/event_time' },
  types: {},
  redelivery: { hours: 1, source: 'reported: 3 retries' },
  permits: NO_PAYMENTS,
  sample: {
    ...{ type: 'event_callback', team_id: 'T0000000001', api_app_id: 'A0000000001' },
    event: {
      ...{ type: 'reaction_added', user: 'U1', reaction: 'white_check_mark' },
      item: { type: 'message', channel: 'C1', ts: '1464196127.000002' },
    },
    ...{ event_id: 'Ev1', event_time: 1360782804 },
  },
  sent: { succeeded: 'reaction_added', failed: 'reaction_removed', order: '/event/item/channel' },
}

/** docs.x.com/x-api/webhooks/quickstart */
export const X: Preset = {
  name: 'x',
  signature: { header: 'x-twitter-webhooks-signature', encoding: 'base64', prefix: 'sha256=' },
  read: { type: '/data/event_type', object: ['/for_user_id', '/data/filter/user_id', '/data/id'] },
  types: {},
  permits: NO_PAYMENTS,
  sample: {
    data: {
      ...{ filter: { user_id: '1' }, event_uuid: '7b9ec1f4-0000-4000-8000-000000000000', event_type: 'follow.follow' },
      ...{ tag: 'order_1', payload: { source: { id: '1' }, target: { id: '2' } } },
    },
  },
  sent: { succeeded: 'follow.follow', failed: 'follow.unfollow', order: '/data/tag' },
}

/** developers.zoom.us/docs/api/webhooks */
export const ZOOM: Preset = {
  name: 'zoom',
  signature: { header: 'x-zm-signature', timestampHeader: 'x-zm-request-timestamp', ...V0 },
  read: {
    type: '/event',
    object: ['/payload/object/id', '/payload/object/uuid', '/payload/account_id'],
    time: '/event_ts',
  },
  types: {},
  redelivery: { hours: 2, source: 'developers.zoom.us/docs/api/webhooks: 3 retries' },
  permits: NO_PAYMENTS,
  sample: {
    ...{ event: 'webinar.registration_created', event_ts: 1626230691572 },
    payload: {
      account_id: 'AAAAAABBBB',
      object: { id: 'web_1', topic: 'My Webinar', type: 5, registrant: { id: 'order_1', email: 'a@example.com' } },
    },
  },
  sent: {
    ...{ succeeded: 'webinar.registration_created', failed: 'webinar.registration_cancelled' },
    order: '/payload/object/registrant/id',
  },
}

export const SERVICE_PRESETS: readonly Preset[] = []
