import type { VerifiedDelivery } from '../delivery.ts'
import type { WebhookEvent } from '../event.ts'
import { type JsonObject, readJsonObject } from './json-object.ts'
import { resolvePointer } from './json-pointer.ts'
import { type EventRules, type FoundEvent, normalizeEvent, type TypeNames } from './normalize-event.ts'

/** Prepares a reader of deliveries from the settings of a provider. */
type PrepareReader = (settings: Omit<EventRules, 'types'>) => (delivery: VerifiedDelivery) => WebhookEvent[]

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
  return eventReader(types, (delivery) => {
    const body = readJsonObject(delivery.rawBody)
    return { found: find(body, (pointer) => resolvePointer(body, pointer), delivery), document: body }
  })
}

/** Reads deliveries of one event each, whatever the form of the body. */
export function eventReader(types: TypeNames, find: (delivery: VerifiedDelivery) => FoundInDocument): PrepareReader {
  return (settings) => {
    const rules = { ...settings, types }
    return (delivery) => {
      const { found, document } = find(delivery)
      return [normalizeEvent(found, document, rules)]
    }
  }
}

/**
 * Reads deliveries of one event each that prove nothing until the provider confirms it: neither the scheme nor the settings
 * map its type, and it has no facts.
 */
export function unconfirmedReader(
  find: (delivery: VerifiedDelivery) => Pick<FoundEvent, 'id' | 'type' | 'objectId'>,
): PrepareReader {
  return () => (delivery) => [normalizeEvent(find(delivery), {}, { types: {} })]
}
