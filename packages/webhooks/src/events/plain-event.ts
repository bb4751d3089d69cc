import { eventInvalid } from '../errors.ts'
import { isEventText, toId } from './event-text.ts'
import type { FoundEvent } from './found-event.ts'
import { isObject, type JsonObject } from './json-object.ts'

/** How the amounts of a provider differ from the plain shape. */
export interface AmountRules {
  /** The properties with the amount, by our type; the first present one counts. */
  readonly amountMembers: (type: string) => readonly string[]
  /** Converts an amount to the minor units of ISO 4217; null if it is invalid. */
  readonly toIsoUnits: (amount: number, currency: unknown) => number | null
}

const PLAIN: AmountRules = { amountMembers: () => ['amount'], toIsoUnits: (amount) => amount }

/**
 * Finds the values of an event of a sender who was told to send the shape `{id, type, data: {object: {id}}}`.
 * @throws eventInvalid if it has another shape
 */
export function findStrictEvent(body: JsonObject): FoundEvent {
  const { id, type, data } = body
  const object = isObject(data) ? data.object : undefined
  if (!isObject(object) || toId(id) === undefined || !isEventText(type) || toId(object.id) === undefined)
    throw eventInvalid()
  return findPlainEvent(body)
}

/**
 * Finds the values of an event in a body of the shape `{id, type, data: {object: {id}}}`, whatever of it is missing. `created`
 * is in seconds (Stripe), `timestamp` is ISO 8601 (Standard Webhooks) or in milliseconds (Clerk).
 */
export function findPlainEvent(body: JsonObject, rules: AmountRules = PLAIN): FoundEvent {
  const { id, type, data, created, timestamp } = body
  const object = isObject(data) && isObject(data.object) ? data.object : {}
  return {
    id,
    type,
    objectId: object.id,
    orderId: orderIdOf(object),
    amount: (ours) => amountOf(object, ours, rules),
    currency: object.currency,
    occurredAt: typeof created === 'number' ? created : (timestamp ?? created),
  }
}

function orderIdOf(object: JsonObject): string | undefined {
  const metadata = isObject(object.metadata) ? object.metadata : {}
  const places = [object.orderId, object.order_id, metadata.orderId, metadata.order_id]
  return places.map(toId).find((id) => id !== undefined)
}

function amountOf(object: JsonObject, type: string, rules: AmountRules): number | null | undefined {
  const members = rules.amountMembers(type)
  const amount = members.map((member) => object[member]).find((value) => value !== undefined && value !== null)
  if (amount === undefined) return undefined
  return typeof amount === 'number' && Number.isSafeInteger(amount) ? rules.toIsoUnits(amount, object.currency) : null
}
