import { eventInvalid } from '../../errors.ts'
import type { WebhookEvent } from '../../event.ts'
import { orderInFreeFields } from '../../events/free-fields.ts'
import { boundedItems } from '../../events/item-list.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { isEventText, isObject, type JsonObject, readStrictObject } from '../../events/read-event.ts'
import { toEvent } from '../../events/to-event.ts'
import type { SharedSettings } from '../../settings/shared-settings.ts'
import { signedBody } from '../../signatures/signed-body.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme } from '../scheme.ts'

const TYPES = {
  'payments.confirmed': 'payment.succeeded',
  'payments.failed': 'payment.failed',
  'payments.cancelled': 'payment.failed',
  'payments.customer_approval_denied': 'payment.failed',
} as const

// GoCardless documents 250 as the maximum.
const MOST_EVENTS = 1_000

/**
 * GoCardless (developer.gocardless.com/getting-started/api/staying-up-to-date-with-webhooks): HMAC-SHA256 of the body in
 * hexadecimal in `Webhook-Signature`. It signs no time. One delivery carries up to 250 events of any kind, each with its
 * own id. The page asks for 498 for a bad signature; here it is 401, as for every scheme.
 */
export const gocardless = defineScheme(
  'gocardless',
  {},
  {
    ...signedBody({ algorithm: 'sha256', headers: ['webhook-signature'], encoding: 'hex' }),
    redelivery: UNDOCUMENTED,
    permits: { ...PAYMENTS, requireAmount: false, origin: ['/links/organisation'] },
    prepareReader:
      (settings) =>
      ({ rawBody }) => {
        const { events } = readStrictObject(rawBody, true)
        if (!Array.isArray(events)) throw eventInvalid()
        return boundedItems<unknown>(events, MOST_EVENTS).map((item) => readItem(item, settings))
      },
  },
)

function readItem(item: unknown, settings: SharedSettings): WebhookEvent {
  if (!isObject(item) || !isEventText(item.resource_type) || !isEventText(item.action)) throw eventInvalid()
  const found = {
    id: item.id,
    type: `${item.resource_type}.${item.action}`,
    objectId: linkOf(item, item.resource_type),
    orderId: orderInFreeFields(item.metadata, item.resource_metadata),
    occurredAt: item.created_at,
  }
  return toEvent(found, { ...settings, types: TYPES, document: item })
}

/** The link to the object of the event. For `payments` its name is `payment`. */
function linkOf({ links }: JsonObject, resourceType: string): unknown {
  if (!isObject(links)) return undefined
  const name = resourceType.replace(/s$/, '')
  return Object.hasOwn(links, name) ? links[name] : undefined
}
