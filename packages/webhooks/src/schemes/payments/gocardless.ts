import { eventInvalid } from '../../errors.ts'
import { isEventText } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { readItems } from '../../events/item-list.ts'
import { isObject, type JsonObject, readJsonObject } from '../../events/json-object.ts'
import { orderInMetadata } from '../../events/metadata.ts'
import { PAYMENTS } from '../../events/permits.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
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
    ...bodySignature({ algorithm: 'sha256', headers: ['webhook-signature'], encoding: 'hex' }),
    redelivery: UNDOCUMENTED,
    permits: { ...PAYMENTS, requireAmount: false, origin: ['/links/organisation'] },
    prepareReader(settings) {
      const rules = { ...settings, types: TYPES }
      return (delivery) => {
        const { events } = readJsonObject(delivery.rawBody)
        if (!Array.isArray(events)) throw eventInvalid()
        const list = { items: events, most: MOST_EVENTS, delivery, pointerOf: (index: number) => `/events/${index}` }
        return readItems<unknown>(list, rules, findInItem)
      }
    },
  },
)

function findInItem(item: unknown): FoundEvent {
  if (!isObject(item) || !isEventText(item.resource_type) || !isEventText(item.action)) throw eventInvalid()
  return {
    id: item.id,
    type: `${item.resource_type}.${item.action}`,
    objectId: linkOf(item, item.resource_type),
    orderId: orderInMetadata(item.metadata, item.resource_metadata),
    occurredAt: item.created_at,
  }
}

/** The link to the object of the event. For `payments` its name is `payment`. */
function linkOf({ links }: JsonObject, resourceType: string): unknown {
  if (!isObject(links)) return undefined
  const name = resourceType.replace(/s$/, '')
  return Object.hasOwn(links, name) ? links[name] : undefined
}
