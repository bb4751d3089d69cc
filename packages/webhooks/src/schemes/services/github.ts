import { singleHeader, type VerifiedDelivery } from '../../delivery.ts'
import { eventReader } from '../../events/event-reader.ts'
import { isEventText } from '../../events/event-text.ts'
import { isFormBody, readForm } from '../../events/form-body.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { isObject, type JsonObject, readJsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { bodySignature } from '../../signatures/body-signature.ts'
import { defineScheme } from '../scheme.ts'

/**
 * GitHub (docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries): HMAC-SHA256 of the body in
 * hexadecimal behind `sha256=`; the older SHA-1 header does not count. Neither the delivery's id nor the event's name is
 * signed: the id is made from the body, and the name is only shown. A form carries the JSON in its field `payload`.
 */
export const github = defineScheme(
  'github',
  {},
  {
    ...bodySignature({
      algorithm: 'sha256',
      headers: ['x-hub-signature-256'],
      encoding: 'hex',
      prefix: 'sha256=',
      readHeaders: ['x-github-event', 'x-github-delivery'],
    }),
    takesForms: true,
    redelivery: { hours: 168, source: 'docs.github.com: redelivery by hand within 3 days, at an Enterprise Server 7' },
    permits: NO_PAYMENTS,
    prepareReader: eventReader({}, (delivery) => {
      const body = readPayload(delivery)
      const name = singleHeader(delivery.rawHeaders, 'x-github-event')
      const object = isEventText(name) ? objectOf(body, name) : {}
      const found = {
        id: idOfBytes(delivery.rawBody),
        type: unsignedType(isEventText(name) ? [name, body.action].filter(isEventText).join('.') : null),
        objectId:
          object.id ?? firstOf(body, ['/hook_id', '/after', '/repository/id', '/organization/id', '/sender/id']),
        occurredAt: object.updated_at ?? object.created_at ?? resolvePointer(body, '/head_commit/timestamp'),
      }
      return { found, document: body }
    }),
  },
)

function readPayload({ rawBody }: VerifiedDelivery): JsonObject {
  return readJsonObject(isFormBody(rawBody) ? Buffer.from(readForm(rawBody).get('payload') ?? '') : rawBody)
}

/** The property that the event is named after: `issues` has an `issue`, `issue_comment` a `comment`. */
function objectOf(body: JsonObject, event: string): JsonObject {
  const names = [event, event.replace(/s$/, ''), event.slice(event.lastIndexOf('_') + 1)]
  return names.map((name) => (Object.hasOwn(body, name) ? body[name] : undefined)).find(isObject) ?? {}
}

function firstOf(body: JsonObject, pointers: readonly string[]): unknown {
  return pointers.map((pointer) => resolvePointer(body, pointer)).find((value) => value !== undefined && value !== null)
}
