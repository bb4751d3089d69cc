import { invalidBody } from '@oncehook/kernel/error-codes'
import { parseStrictJson } from '@oncehook/kernel/strict-json'
import { eventInvalid } from '../errors.ts'
import type { PaymentFacts, WebhookEvent } from '../event.ts'
import { resolvePointer } from './json-pointer.ts'
import { type PermissionSettings, permit } from './permits.ts'

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>

/** How the body of a provider differs from our shape. */
export interface ReadingRules extends PermissionSettings {
  /** The type names of the scheme, and ours. */
  readonly types?: Readonly<Record<string, string>>
  /** More type names from the settings, and ours. They win. */
  readonly events?: Readonly<Record<string, string>> | undefined
  /** A JSON Pointer (RFC 6901) to the order id in the body. It replaces the usual properties. */
  readonly orderReference?: string | undefined
  /** The properties with the amount, by our type; the first present one counts. Default: `amount`. */
  readonly amountMembers?: (type: string) => readonly string[]
  /** Converts an amount to the minor units of ISO 4217; null if it is invalid. Default: no conversion. */
  readonly toIsoUnits?: (amount: number, currency: unknown) => number | null
  /** The body as it was sent, for `orderReference` and `expect`, if it was converted to our shape before. */
  readonly sentBody?: JsonObject
}

/**
 * Reads the bytes of an authentic delivery as one JSON object. On request, integers that a double would round become
 * bigints, so that long ids stay exact.
 * @throws invalidBody
 */
export function readStrictObject(rawBody: Buffer, bigIntegers = false): JsonObject {
  // Deeper than any payment, and shallow enough for every later reader.
  const value = parseStrictJson(rawBody, { maxDepth: 512, bigIntegers })
  if (!isObject(value)) throw invalidBody({ reason: 'not an object' }, { says: 'The body is not a JSON object' })
  return value
}

/**
 * Reads an event of the shape `{id, type, data: {object: {id}}}`, and what it says about an order.
 * @throws eventInvalid
 */
export function readEvent(body: JsonObject, rules: ReadingRules): WebhookEvent {
  const { id, type, data } = body
  const object = isObject(data) ? data.object : undefined
  if (!isObject(object) || !isEventText(id) || !isEventText(type) || !isEventText(object.id)) throw eventInvalid()
  const ours = ownMember(rules.events, type) ?? ownMember(rules.types, type) ?? type
  const document = rules.sentBody ?? body
  const event = {
    id,
    type: ours,
    objectId: object.id,
    facts: {
      orderId: orderIdOf({ body: document, object, reference: rules.orderReference }) ?? object.id,
      ...amountOf(object, { members: rules.amountMembers?.(ours) ?? ['amount'], toIsoUnits: rules.toIsoUnits }),
      ...currencyOf(object),
      ...occurredAtOf(body),
    },
  }
  return permit(event, { permissions: rules, document })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Whether a value can be an id or a type: well-formed text of 1 to 255 bytes, not only whitespace, no control characters. */
export function isEventText(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 255 || value.trim() === '') return false
  return value.isWellFormed() && Buffer.byteLength(value) <= 255 && !CONTROL.test(value)
}

/** Whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a name in a map, safe for names that a sender chooses. */
export function ownMember(map: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined
}

interface OrderPlace {
  readonly body: JsonObject
  readonly object: JsonObject
  readonly reference: string | undefined
}

function orderIdOf({ body, object, reference }: OrderPlace): string | undefined {
  if (reference !== undefined) return toId(resolvePointer(body, reference))
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const places = [object.orderId, object.order_id, metadata.orderId, metadata.order_id]
  return places.map(toId).find((id) => id !== undefined)
}

/** Some shops number their orders. A number that a double holds exactly becomes its digits. */
export function toId(value: unknown): string | undefined {
  const text = Number.isSafeInteger(value) || typeof value === 'bigint' ? String(value) : value
  return isEventText(text) ? text : undefined
}

interface AmountRules {
  readonly members: readonly string[]
  readonly toIsoUnits: ReadingRules['toIsoUnits']
}

function amountOf(
  object: JsonObject,
  { members, toIsoUnits = (amount) => amount }: AmountRules,
): Pick<PaymentFacts, 'amount' | 'unreadable'> {
  const sent = members.map((member) => object[member]).find(isPresent)
  if (sent === undefined) return {}
  const amount = Number.isSafeInteger(sent) ? toIsoUnits(sent as number, object.currency) : null
  return amount === null ? { unreadable: 'amount_mismatch' } : { amount }
}

/** The currency that an object names, in capitals. */
export function currencyOf({ currency }: JsonObject): Pick<PaymentFacts, 'currency' | 'unreadable'> {
  if (!isPresent(currency)) return {}
  if (typeof currency !== 'string' || !/^[A-Za-z]{3}$/.test(currency)) return { unreadable: 'currency_mismatch' }
  return { currency: currency.toUpperCase() }
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null
}

const ISO_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** `created` in seconds (Stripe) or `timestamp` in ISO 8601 (Standard Webhooks); anything else is ignored. */
export function occurredAtOf({ created, timestamp }: JsonObject): Pick<PaymentFacts, 'occurredAt'> {
  const instant =
    typeof created === 'number'
      ? new Date(created * 1000)
      : new Date(typeof timestamp === 'string' && ISO_INSTANT.test(timestamp) ? timestamp : Number.NaN)
  const years = instant.getUTCFullYear()
  // A year of more than four digits means another unit, and no later reader accepts it.
  return years >= 0 && years <= 9_999 ? { occurredAt: instant.toISOString() } : {}
}
