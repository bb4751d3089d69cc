// Providers without payments, as data. Those with a name of their own have code too, below schemes/services.
import { NO_PAYMENTS } from '../events/permits.ts'
import type { Preset } from './preset.ts'

const SVIX = { hours: 120, source: 'Svix: an endpoint is disabled after 120 hours' } as const

/** Where Adyen's minor units differ from ISO 4217 (docs.adyen.com/development-resources/currency-codes): decimals of both. */
export const ADYEN_DECIMALS = { CLP: [2, 0], CVE: [0, 2], IDR: [0, 2], ISK: [2, 0] } as const

const V0 = { prefix: 'v0=', signedText: 'v0:{timestamp}:{body}' } as const

/** developers.facebook.com/docs/graph-api/webhooks/getting-started, also WhatsApp, Instagram and Messenger: the key is the app secret. */
export const META: Preset = {
  name: 'meta',
  signature: { header: 'X-Hub-Signature-256', prefix: 'sha256=' },
  read: { type: '/object', status: '/entry/0/changes/0/field', object: '/entry/0/id', time: '/entry/0/time' },
  types: {},
  redelivery: { hours: 168, source: 'developers.facebook.com/docs/whatsapp: 7 days' },
  permits: NO_PAYMENTS,
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
  sent: { succeeded: 'reaction_added', failed: 'reaction_removed', order: '/event/item/channel' },
}

/** docs.x.com/x-api/webhooks/quickstart */
export const X: Preset = {
  name: 'x',
  signature: { header: 'x-twitter-webhooks-signature', encoding: 'base64', prefix: 'sha256=' },
  read: { type: '/data/event_type', object: ['/for_user_id', '/data/filter/user_id', '/data/id'] },
  types: {},
  permits: NO_PAYMENTS,
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
  sent: { succeeded: 'envelope-completed', failed: 'envelope-declined', order: '/data/envelopeSummary/emailSubject' },
}

export const SERVICE_PRESETS: readonly Preset[] = [
  /**
   * docs.adyen.com/development-resources/webhooks/verify-hmac-signatures, platform and management: the id in the body is that of
   * the object, which may change often, so the event id is made from the body. None of these webhooks means that an order is paid.
   */
  {
    name: 'adyen-platform',
    signature: { header: 'HmacSignature', encoding: 'base64', secretEncoding: 'hex' },
    read: {
      type: '/type',
      status: '/data/status',
      object: ['/data/id', '/data/balanceAccount/id', '/data/accountHolder/id', '/data/merchantId'],
      order: '/data/reference',
      amount: '/data/amount/value',
      decimals: ADYEN_DECIMALS,
      currency: '/data/amount/currency',
      time: ['/timestamp', '/createdAt'],
    },
    types: {},
    redelivery: { hours: 720, source: 'docs.adyen.com/development-resources/webhooks/troubleshoot' },
    permits: NO_PAYMENTS,
    sent: {
      succeeded: 'balancePlatform.transfer.updated.booked',
      failed: 'balancePlatform.transfer.updated.failed',
    },
  },
  /** developer.calendly.com/docs/webhooks/overview: there is no event id, so it is made from the body. */
  {
    name: 'calendly',
    signature: { header: 'Calendly-Webhook-Signature', separator: ',', timestampPrefix: 't=', prefix: 'v1=' },
    read: { type: '/event', object: '/payload/uri', time: '/created_at' },
    types: {},
    permits: NO_PAYMENTS,
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
    sent: { succeeded: 'user.created', failed: 'user.deleted', order: '/data/external_id' },
  },
]
