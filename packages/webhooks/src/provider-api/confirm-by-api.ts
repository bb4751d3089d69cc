import type { WebhookEvent } from '../event.ts'
import { type EventRules, normalizeEvent } from '../events/event-reader.ts'
import type { FoundEvent, TypeNames } from '../events/found-event.ts'
import { isObject, type JsonObject } from '../events/json-object.ts'
import type { ConfirmEvent, Confirmed } from '../schemes/scheme.ts'
import { type ApiQuestion, type FetchSettings, readFromApi } from './provider-api.ts'

/** How a scheme confirms an event with the provider's API. */
interface ApiConfirmation {
  readonly types: TypeNames
  /** The object to read; or the result, if there is nothing to ask. */
  readonly questionOf: (event: WebhookEvent) => ApiQuestion | Confirmed
  /** The object in the answer. Default: the answer. */
  readonly objectIn?: (answer: JsonObject) => unknown
  /** The values of the event in the object; null if it is not the object of the event. */
  readonly find: (object: JsonObject, event: WebhookEvent) => FoundEvent | null
}

type ApiSettings = Omit<EventRules, 'types'> & { readonly fetch: FetchSettings }

/** The provider does not know the object of an event. */
export const OBJECT_UNKNOWN: Confirmed = { refused: 'object_unknown' }

/** The part of a scheme that reads the object of an event from the provider's API. Only this answer counts. */
export function confirmByApi({ types, questionOf, objectIn = (answer) => answer, find }: ApiConfirmation) {
  return (settings: ApiSettings): ConfirmEvent => {
    const rules = { ...settings, types }
    return async (event, fetch) => {
      const question = questionOf(event)
      if (!('path' in question)) return question
      const answer = await readFromApi(settings.fetch, question, fetch)
      const object = answer === null ? null : objectIn(answer)
      const found = isObject(object) ? find(object, event) : null
      return found === null ? OBJECT_UNKNOWN : { event: normalizeEvent(found, object, rules) }
    }
  }
}
