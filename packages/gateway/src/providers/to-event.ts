import { eventInvalid } from '../errors.ts'
import type { PaymentFacts, WebhookEvent } from '../event.ts'
import { resolvePointer } from './json-pointer.ts'
import { currencyOf, isEventText, occurredAtOf, ownMember, toId } from './read-event.ts'
import type { SharedSettings } from './shared-settings.ts'

/** What a provider's body says, taken from where that provider puts it; nothing of it is checked yet. */
export interface FoundEvent {
  /** The provider's id of the event, or one made of the signed bytes. */
  readonly id: unknown
  /** The provider's name of the type; where a status decides, with the status behind a full stop. */
  readonly type: unknown
  readonly objectId: unknown
  readonly orderId?: unknown
  /** Minor units; null where the provider names an amount that is none. */
  readonly amount?: number | null | undefined
  readonly currency?: unknown
  /** ISO 8601, or seconds since 1970. */
  readonly occurredAt?: unknown
}

/** How found events become ours: the scheme's own type names, and what the settings add. */
export interface EventRules extends Pick<SharedSettings, 'events' | 'orderReference'> {
  readonly types: Readonly<Record<string, string>>
  /** What `orderReference` points into: the body, or the item of a body with several. */
  readonly document: unknown
}

/**
 * Makes an event of what was found.
 * @throws eventInvalid
 */
export function toEvent(found: FoundEvent, rules: EventRules): WebhookEvent {
  const { type } = found
  const id = toId(found.id)
  const objectId = toId(found.objectId)
  if (id === undefined || objectId === undefined || !isEventText(type)) throw eventInvalid()
  const { orderReference: reference, document } = rules
  const order = reference === undefined ? found.orderId : resolvePointer(document, reference)
  return {
    id,
    type: ownMember(rules.events, type) ?? ownMember(rules.types, type) ?? type,
    objectId,
    facts: {
      orderId: toId(order) ?? objectId,
      ...amountOf(found.amount),
      ...currencyOf({ currency: found.currency }),
      ...occurredAtOf(
        typeof found.occurredAt === 'number' ? { created: found.occurredAt } : { timestamp: found.occurredAt },
      ),
    },
  }
}

function amountOf(amount: number | null | undefined): Pick<PaymentFacts, 'amount' | 'unreadable'> {
  if (amount === undefined) return {}
  return amount === null ? { unreadable: 'amount_mismatch' } : { amount }
}
