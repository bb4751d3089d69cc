// Providers without payments, as data. Those with a name of their own have code too, below schemes/services.
import { NO_PAYMENTS } from '../events/permits.ts'
import type { Preset } from './preset.ts'

const SVIX = { hours: 120, source: 'Svix: an endpoint is disabled after 120 hours' } as const

const V0 = { prefix: 'v0=', signedText: 'v0:{timestamp}:{body}' } as const

/** developers.facebook.com/docs/graph-api/webhooks/getting-started, also WhatsApp, Instagram and Messenger: the key is the app secret. */
export const META: Preset = {
  name: 'meta',
  signature: { header: 'X-Hub-Signature-256', prefix: 'sha256=' },
  read: { type: '/object', status: '/entry/0/changes/0/field', object: '/entry/0/id', time: '/entry/0/time' },
  types: {},
  redelivery: { hours: 168, source: 'developers.facebook.com/docs/whatsapp: 7 days' },
  permits: NO_PAYMENTS,
  sample: {
    object: 'whatsapp_business_account',
    entry: [
      {
        id: '102290129340398',
        changes: [
          {
            field: 'messages',
            value: {
              ...{ messaging_product: 'whatsapp', contacts: [{ profile: { name: 'A' }, wa_id: 'order_1' }] },
              messages: [{ from: '16505551234', id: 'wamid.1', timestamp: '1749416383', type: 'text' }],
            },
          },
        ],
      },
    ],
  },
  sent: {
    succeeded: 'whatsapp_business_account.messages',
    failed: 'whatsapp_business_account.message_template_status_update',
    order: '/entry/0/changes/0/value/contacts/0/wa_id',
  },
}

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

/**
 * developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation; the npm library
 * @hubspot/api-client. `eventId` need not be unique, and `attemptNumber` counts.
 */
export const HUBSPOT: Preset = {
  name: 'hubspot',
  signature: {
    ...{ header: 'X-HubSpot-Signature-v3', timestampHeader: 'X-HubSpot-Request-Timestamp', encoding: 'base64' },
    ...{ timestampIn: 'milliseconds', signedText: 'POST{url}{body}{timestamp}', checkedAs: 'hmac' },
  },
  list: { most: 1_000 },
  read: {
    idOf: [
      ...['/eventId', '/subscriptionId', '/portalId', '/appId', '/occurredAt', '/subscriptionType', '/eventType'],
      ...['/objectTypeId', '/objectId', '/propertyName', '/propertyValue', '/changeFlag', '/messageId'],
      ...['/primaryObjectId', '/mergedObjectIds', '/newObjectId', '/associationType', '/fromObjectId', '/toObjectId'],
      ...['/fromObjectTypeId', '/toObjectTypeId', '/associationCategory', '/associationTypeId'],
      ...['/associationRemoved', '/isPrimaryAssociation'],
    ],
    // The document has the second name, its library and all that is reported the first.
    type: ['/subscriptionType', '/eventType'],
    object: ['/objectId', '/primaryObjectId', '/fromObjectId'],
    time: '/occurredAt',
  },
  types: {},
  redelivery: { hours: 24, source: 'developers.hubspot.com/docs/api/webhooks: 10 retries' },
  permits: { ...NO_PAYMENTS, origin: ['/portalId'] },
  sample: {
    ...{ eventId: 567890123, subscriptionId: 234567, portalId: 12345678, appId: 987654, occurredAt: 1708986598741 },
    ...{ subscriptionType: 'deal.propertyChange', attemptNumber: 0, objectId: 65059681032, changeSource: 'CRM_UI' },
    ...{ propertyName: 'order_id', propertyValue: 'order_1', sourceId: 'userId:45678' },
  },
  sent: { succeeded: 'deal.propertyChange', failed: 'deal.deletion', order: '/propertyValue' },
}

/**
 * developers.docusign.com/platform/webhooks/connect/validate; the messages are those of JSON SIM
 * (developers.docusign.com/platform/webhooks/connect/json-sim-event-model). There is no event id, and `retryCount` counts.
 */
export const DOCUSIGN: Preset = {
  name: 'docusign',
  signature: { header: 'X-DocuSign-Signature-1', encoding: 'base64' },
  read: {
    idOf: [
      ...['/generatedDateTime', '/event', '/configurationId', '/uri', '/data/accountId', '/data/userId'],
      ...['/data/envelopeId', '/data/recipientId', '/data/templateId'],
    ],
    type: '/event',
    object: ['/data/envelopeId', '/data/templateId'],
    time: '/generatedDateTime',
  },
  types: {},
  redelivery: { hours: 240, source: 'the npm library docusign-esign: 10 retries, each a day after the last one' },
  permits: { ...NO_PAYMENTS, origin: ['/data/accountId'] },
  sample: {
    ...{ event: 'envelope-completed', apiVersion: 'v2.1', retryCount: 0, configurationId: 21752918 },
    uri: '/restapi/v2.1/accounts/24dfce13-0000-4000-8000-000000000000/envelopes/a70a5ef2-0000-4000-8000-000000000000',
    generatedDateTime: '2025-05-30T18:03:50.4233752Z',
    data: {
      ...{ accountId: '24dfce13-0000-4000-8000-000000000000', userId: '8c531060-0000-4000-8000-000000000000' },
      ...{ envelopeId: 'a70a5ef2-0000-4000-8000-000000000000', envelopeSummary: { emailSubject: 'order_1' } },
    },
  },
  sent: { succeeded: 'envelope-completed', failed: 'envelope-declined', order: '/data/envelopeSummary/emailSubject' },
}

export const SERVICE_PRESETS: readonly Preset[] = [
  /** developer.calendly.com/docs/webhooks/overview: there is no event id, so it is made from the body. */
  {
    name: 'calendly',
    signature: { header: 'Calendly-Webhook-Signature', separator: ',', timestampPrefix: 't=', prefix: 'v1=' },
    read: { type: '/event', object: '/payload/uri', time: '/created_at' },
    types: {},
    permits: NO_PAYMENTS,
    sample: {
      ...{ created_at: '2020-11-23T17:51:19.000000Z', created_by: 'https://api.calendly.com/users/AAAAAAAAAAAAAAAA' },
      event: 'invitee.created',
      payload: {
        ...{ uri: 'https://api.calendly.com/scheduled_events/1/invitees/1', email: 'a@example.com', status: 'active' },
        ...{ rescheduled: false, tracking: { utm_source: null, utm_content: 'order_1' } },
      },
    },
    sent: { succeeded: 'invitee.created', failed: 'invitee.canceled', order: '/payload/tracking/utm_content' },
  },
  /** clerk.com/docs/guides/development/webhooks/overview; the npm library @clerk/backend: delivered by Svix. */
  {
    name: 'clerk',
    signature: { checkedAs: 'standard-webhooks', headerPrefix: 'svix-' },
    read: { type: '/type', object: '/data/id', time: '/timestamp' },
    types: {},
    redelivery: SVIX,
    permits: NO_PAYMENTS,
    sample: {
      ...{ object: 'event', type: 'user.created', timestamp: 1654012591835, instance_id: 'ins_1' },
      data: { id: 'user_1', object: 'user', external_id: 'order_1', created_at: 1654012591514 },
    },
    sent: { succeeded: 'user.created', failed: 'user.deleted', order: '/data/external_id' },
  },
  /** resend.com/docs/webhooks/verify-webhooks-requests; the npm library resend: delivered by Svix. */
  {
    name: 'resend',
    signature: { checkedAs: 'standard-webhooks', headerPrefix: 'svix-' },
    read: { type: '/type', object: ['/data/email_id', '/data/id'], time: '/created_at' },
    types: {},
    redelivery: SVIX,
    permits: NO_PAYMENTS,
    sample: {
      ...{ type: 'email.delivered', created_at: '2024-02-22T23:41:12.126Z' },
      data: {
        ...{ email_id: '56761188-7520-42d8-8898-ff6fc54ce618', from: 'Acme <onboarding@resend.dev>' },
        ...{ to: ['delivered@resend.dev'], subject: 'Sending this example', tags: { order_id: 'order_1' } },
      },
    },
    sent: { succeeded: 'email.delivered', failed: 'email.bounced', order: '/data/tags/order_id' },
  },
  /** workos.com/docs/events/data-syncing/webhooks; the npm library @workos-inc/node: the time is in milliseconds. */
  {
    name: 'workos',
    signature: {
      ...{ header: 'WorkOS-Signature', separator: ',', timestampPrefix: 't=', prefix: 'v1=' },
      ...{ timestampIn: 'milliseconds', checkedAs: 'hmac' },
    },
    read: { id: '/id', type: '/event', object: '/data/id', time: '/created_at' },
    types: {},
    permits: NO_PAYMENTS,
    sample: {
      ...{ id: 'event_1', event: 'user.created', created_at: '2023-11-18T09:18:13.120Z' },
      data: { object: 'user', id: 'user_1', email: 'a@example.com', external_id: 'order_1' },
    },
    sent: { succeeded: 'user.created', failed: 'user.deleted', order: '/data/external_id' },
  },
]
