import type { VerifiedDelivery } from '../delivery.ts'
import { eventInvalid } from '../errors.ts'
import { isPaymentEventType, type PaymentFacts, type WebhookEvent } from '../event.ts'
import type { CommonSettings } from '../settings/common-settings.ts'
import { ISO_INSTANT } from '../signatures/time-forms.ts'
import { meets } from './conditions.ts'
import { isEventText, toId } from './event-text.ts'
import { type Amount, type FoundEvent, mapped, type TypeNames } from './found-event.ts'
import { idOfBytes } from './id-of-bytes.ts'
import { type JsonObject, readJsonObject } from './json-object.ts'
import { resolvePointer } from './json-pointer.ts'
import { type PermissionSettings, permit } from './permits.ts'

/** How these values become an event: the settings of the provider, and the types of its scheme. */
export interface EventRules extends Pick<CommonSettings, 'events' | 'read'>, PermissionSettings {
  readonly types: TypeNames
  /** How many levels a body may have. Default: as many as the body of a delivery. */
  readonly maxDepth?: number
}

/** Prepares a reader of deliveries from the settings of a provider. */
export type PrepareReader = (settings: Omit<EventRules, 'types'>) => (delivery: VerifiedDelivery) => WebhookEvent[]

/** The value at a JSON Pointer (RFC 6901) in the body; undefined if there is none. */
export type At = (pointer: string) => unknown

/** Values of an event, and the document that they come from. */
export interface FoundInDocument {
  readonly found: FoundEvent
  readonly document: unknown
}

/** Reads deliveries of one JSON object with one event each. `find` picks the values of the event. */
export function jsonReader(
  types: TypeNames,
  find: (body: JsonObject, at: At, delivery: VerifiedDelivery) => FoundEvent,
): PrepareReader {
  return (settings) =>
    eventReader(types, (delivery) => {
      const body = readJsonObject(delivery.rawBody, settings.maxDepth)
      return { found: find(body, (pointer) => resolvePointer(body, pointer), delivery), document: body }
    })(settings)
}

/** Reads deliveries of one event each, whatever the form of the body. */
export function eventReader(types: TypeNames, find: (delivery: VerifiedDelivery) => FoundInDocument): PrepareReader {
  return (settings) => {
    const rules = { ...settings, types }
    return (delivery) => {
      const { found, document } = find(delivery)
      const idOfBody = (): string => idOfBytes(delivery.rawBody)
      return [normalizeEvent(found, document, rules, idOfBody)]
    }
  }
}

/**
 * Makes an event from values of `document`, in which the settings look things up: the body, one item of a body with several, or
 * the answer of the provider's API. `otherId` makes the id of an event that names none.
 * @throws eventInvalid
 */
export function normalizeEvent(
  usual: FoundEvent,
  document: unknown,
  rules: EventRules,
  otherId?: () => string,
): WebhookEvent {
  const found = rules.read === undefined ? usual : mapped(usual, document, rules.read)
  const id = toId(found.id) ?? otherId?.()
  const { type, withheld } = meaningOf(found, document, rules)
  if (id === undefined || type === undefined) throw eventInvalid()
  const objectId = toId(found.objectId)
  if (objectId === undefined && isPaymentEventType(type)) throw eventInvalid()
  const event = {
    id,
    type,
    ...(objectId === undefined ? {} : { objectId }),
    facts: {
      orderId: toId(found.orderId) ?? objectId ?? '',
      ...amountOf(typeof found.amount === 'function' ? found.amount(type) : found.amount),
      ...currencyOf(found.currency),
      ...occurredAtOf(found.occurredAt),
      ...(found.pointer === undefined ? {} : { pointer: found.pointer }),
    },
  }
  return permit(event, { permissions: rules, document, withheld })
}

/** Our type; or, of an object that is not paid, the provider's name and the reason. */
function meaningOf(
  found: FoundEvent,
  document: unknown,
  rules: EventRules,
): { readonly type: string | undefined; readonly withheld: PaymentFacts['withheld'] } {
  const { withheld, unpaid } = found
  const type = typeOf(found, document, rules)
  if (unpaid === undefined || type !== 'payment.succeeded' || !isEventText(found.type)) return { type, withheld }
  const counted = nameIn(rules.events, `${found.type}.${unpaid}`, document)
  return counted === undefined ? { type: found.type, withheld: 'not_paid' } : { type: counted, withheld }
}

/**
 * The more specific name wins: a type with its status before the type alone, so that a mapped type does not turn its
 * failures into successes. Of equal names that of the settings wins.
 */
function typeOf({ type, status, types }: FoundEvent, document: unknown, rules: EventRules): string | undefined {
  if (!isEventText(type)) return undefined
  const ours = (name: string) => nameIn(rules.events, name, document) ?? nameIn(types ?? rules.types, name, document)
  if (!isEventText(status)) return ours(type) ?? type
  const whole = `${type}.${status}`
  return ours(whole) ?? ours(type) ?? (isEventText(whole) ? whole : undefined)
}

/** What a type means. If it means something only in other documents, it keeps its name. Safe for names that a sender chooses. */
function nameIn(names: TypeNames = {}, name: string, document: unknown): string | undefined {
  const meaning = Object.hasOwn(names, name) ? names[name] : undefined
  if (meaning === undefined || typeof meaning === 'string') return meaning
  return meets(document, meaning.where) ? meaning.is : name
}

function amountOf(amount: Amount): Pick<PaymentFacts, 'amount' | 'unreadable'> {
  if (amount === undefined) return {}
  return amount === null ? { unreadable: 'amount_mismatch' } : { amount }
}

function currencyOf(currency: unknown): Pick<PaymentFacts, 'currency' | 'unreadable'> {
  if (currency === undefined || currency === null) return {}
  if (typeof currency !== 'string' || !/^[A-Za-z]{3}$/.test(currency)) return { unreadable: 'currency_mismatch' }
  return { currency: currency.toUpperCase() }
}

// In seconds, the year 5138; in milliseconds, 1973.
const LEAST_MILLISECONDS = 100_000_000_000

/** The time of an event, from ISO 8601, seconds or milliseconds. Anything else is ignored. */
function occurredAtOf(at: unknown): Pick<PaymentFacts, 'occurredAt'> {
  const instant =
    typeof at === 'number'
      ? new Date(at < LEAST_MILLISECONDS ? at * 1000 : at)
      : new Date(typeof at === 'string' && ISO_INSTANT.test(at) ? at : Number.NaN)
  const years = instant.getUTCFullYear()
  // A year of more than four digits means another unit, and no later reader accepts it.
  return years >= 0 && years <= 9_999 ? { occurredAt: instant.toISOString() } : {}
}
