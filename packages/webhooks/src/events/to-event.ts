import { eventInvalid } from '../errors.ts'
import { isPaymentEventType, type PaymentFacts, type WebhookEvent } from '../event.ts'
import type { SharedSettings } from '../settings/shared-settings.ts'
import { resolvePointer } from './json-pointer.ts'
import { type PermissionSettings, permit } from './permits.ts'
import { currencyOf, isEventText, occurredAtOf, ownMember, toId } from './read-event.ts'

/** Values from the body of a provider. They are not checked yet. */
export interface FoundEvent {
  /** The provider's id of the event, or a hash of the signed bytes. */
  readonly id: unknown
  /** The provider's name of the type. */
  readonly type: unknown
  /** A status that decides what the type means. It is appended to the type after a full stop. */
  readonly status?: unknown
  /** The id of the object. An event that changes no order may have none; then it is the id of the event. */
  readonly objectId: unknown
  readonly orderId?: unknown
  /** Minor units; null if the amount is invalid. */
  readonly amount?: number | null | undefined
  readonly currency?: unknown
  /** ISO 8601, or seconds since 1970. */
  readonly occurredAt?: unknown
}

/** How these values become an event. */
export interface EventRules extends Pick<SharedSettings, 'events' | 'orderReference'>, PermissionSettings {
  /** The provider's types, with or without the status, and ours. */
  readonly types: Readonly<Record<string, string>>
  /** The document for `orderReference` and `expect`: the body, or one item of a body with several. */
  readonly document: unknown
}

/**
 * Makes an event from the values of a body.
 * @throws eventInvalid
 */
export function toEvent(found: FoundEvent, rules: EventRules): WebhookEvent {
  const id = toId(found.id)
  const type = typeOf(found, rules)
  if (id === undefined || type === undefined) throw eventInvalid()
  const objectId = toId(found.objectId) ?? (isPaymentEventType(type) ? undefined : id)
  if (objectId === undefined) throw eventInvalid()
  const { orderReference: reference, document } = rules
  const order = reference === undefined ? found.orderId : resolvePointer(document, reference)
  const event = {
    id,
    type,
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
  return permit(event, { permissions: rules, document })
}

/**
 * The more specific name wins: a type with its status before the type alone, so that a mapped type does not turn its
 * failures into successes. Of equal names that of the settings wins.
 */
function typeOf({ type, status }: FoundEvent, rules: EventRules): string | undefined {
  if (!isEventText(type)) return undefined
  const whole = isEventText(status) ? `${type}.${status}` : type
  const names = [whole, type].flatMap((name) => [ownMember(rules.events, name), ownMember(rules.types, name)])
  return [...names, whole].find(isEventText)
}

function amountOf(amount: number | null | undefined): Pick<PaymentFacts, 'amount' | 'unreadable'> {
  if (amount === undefined) return {}
  return amount === null ? { unreadable: 'amount_mismatch' } : { amount }
}
