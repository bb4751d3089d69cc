import { eventInvalid } from '../errors.ts'
import { isPaymentEventType, type PaymentFacts, type WebhookEvent } from '../event.ts'
import type { SharedSettings } from '../settings/shared-settings.ts'
import { resolvePointer } from './json-pointer.ts'
import { type PermissionSettings, permit } from './permits.ts'
import { currencyOf, isEventText, occurredAtOf, ownMember, toId } from './read-event.ts'

/** What a provider's body says, taken from where that provider puts it; nothing of it is checked yet. */
export interface FoundEvent {
  /** The provider's id of the event, or one made of the signed bytes. */
  readonly id: unknown
  /** The provider's name of the type. */
  readonly type: unknown
  /** Where a status decides what the type means: it is put behind the type's name, after a full stop. */
  readonly status?: unknown
  /** The object that the event is about; an event that changes no order may name none, and is then its own. */
  readonly objectId: unknown
  readonly orderId?: unknown
  /** Minor units; null where the provider names an amount that is none. */
  readonly amount?: number | null | undefined
  readonly currency?: unknown
  /** ISO 8601, or seconds since 1970. */
  readonly occurredAt?: unknown
}

/** How found events become ours: the scheme's own type names, and what the settings add. */
export interface EventRules extends Pick<SharedSettings, 'events' | 'orderReference'>, PermissionSettings {
  /** The provider's types -> ours, with or without the status behind them. */
  readonly types: Readonly<Record<string, string>>
  /** What `orderReference` and `expect` point into: the body, or the item of a body with several. */
  readonly document: unknown
}

/**
 * Makes an event of what was found.
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
 * The name that says most decides: a type with its status before the type alone, so that mapping a type does not make
 * a success of its failures; and of equal ones that of the settings.
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
