import { createSecretKey } from 'node:crypto'
import { headerLines } from '../../delivery.ts'
import type { WebhookEvent } from '../../event.ts'
import { jsonReader } from '../../events/event-reader.ts'
import { isEventText, toId } from '../../events/event-text.ts'
import type { FoundEvent } from '../../events/found-event.ts'
import { idOfBytes } from '../../events/id-of-bytes.ts'
import { type JsonObject, readJsonObject } from '../../events/json-object.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { unconfirmedReader } from '../../events/unconfirmed-reader.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { confirmByApi, OBJECT_UNKNOWN } from '../../provider-api/confirm-by-api.ts'
import { fetchSettings } from '../../provider-api/provider-api.ts'
import { readTextKey } from '../../signatures/read-key.ts'
import { prepareStaticToken } from '../../signatures/static-token.ts'
import {
  prepareStandardCheck,
  readStandardKey,
  STANDARD_FAMILIES,
  STANDARD_HEADERS,
} from '../generic/standard-webhooks.ts'
import { UNDOCUMENTED } from '../redelivery.ts'
import { defineScheme, type ReadKey } from '../scheme.ts'

const SIGNED = 'signed'
const TOKEN_HEADER = 'x-gitlab-token'

/**
 * GitLab (docs.gitlab.com/user/project/integrations/webhooks): a signing token (`whsec_`) signs as Standard Webhooks v1;
 * any other secret is sent in plaintext in `X-Gitlab-Token` and signs nothing, so the object is read from GitLab (`"fetch"`,
 * version 4 of its API) before an event counts. Each secret allows one way only: a plaintext token never replaces a
 * signature. GitLab has no payments; the settings may map its types.
 */
export const gitlab = defineScheme(
  'gitlab',
  { fetch: fetchSettings.optional() },
  {
    readKey(text, { fetch }): ReadKey {
      if (text.startsWith('whsec_')) return readSigningToken(text)
      if (fetch === undefined) return { problem: 'is a token that signs nothing: "fetch" is needed' }
      return readTextKey(text)
    },
    headerFamilies: [...STANDARD_FAMILIES, [TOKEN_HEADER]],
    signedHeaders: () => [...STANDARD_HEADERS, TOKEN_HEADER],
    staticTokenHeader: TOKEN_HEADER,
    // With a plaintext token the window would protect nothing.
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    signsTime: ({ fetch }) => fetch === undefined,
    prepare({ toleranceSeconds }, secrets) {
      const signing = secrets.filter(({ kind }) => kind === SIGNED)
      const bySignature = prepareStandardCheck(toleranceSeconds, signing)
      const byToken = prepareStaticToken(
        TOKEN_HEADER,
        secrets.filter(({ kind }) => kind !== SIGNED),
      )
      return (delivery, now) => {
        const isSigned = headerLines(delivery.rawHeaders, 'webhook-signature').length > 0
        return isSigned && signing.length > 0 ? bySignature(delivery, now) : byToken(delivery, now)
      }
    },
    prepareReader: (settings) => (settings.fetch === undefined ? readSigned : readUnconfirmed)(settings),
    prepareConfirm(settings) {
      const { fetch } = settings
      if (fetch === undefined) return undefined
      return confirm({ ...settings, fetch: { ...fetch, baseUrl: `${fetch.baseUrl.replace(/\/+$/, '')}/api/v4` } })
    },
  },
)

function readSigningToken(text: string): ReadKey {
  const read = readStandardKey(text)
  if (!Buffer.isBuffer(read)) return read
  // Made a key object here, because only a key object can carry its kind.
  return read.length < MIN_KEY_BYTES
    ? { problem: 'is shorter than 16 bytes' }
    : { key: createSecretKey(read), kind: SIGNED }
}

const MIN_KEY_BYTES = 16

function tokenHeader(token: string): Readonly<Record<string, string>> {
  return { 'PRIVATE-TOKEN': token }
}

function kindOf(body: JsonObject): string | undefined {
  return [body.object_kind, body.event_name, body.event_type].find(isEventText)
}

const readSigned = jsonReader({}, (body, at, { rawBody, signedId }) => ({
  id: signedId ?? idOfBytes(rawBody),
  type: kindOf(body),
  status: at('/object_attributes/action') ?? at('/object_attributes/status') ?? body.build_status,
  objectId: at('/object_attributes/id') ?? body.build_id ?? body.project_id ?? at('/project/id'),
  occurredAt: at('/object_attributes/updated_at'),
}))

const readUnconfirmed = unconfirmedReader(({ rawBody, signedId }) => {
  const body = readJsonObject(rawBody)
  return { id: signedId ?? idOfBytes(rawBody), type: unsignedType(kindOf(body)), objectId: placeOf(body) }
})

const confirm = confirmByApi({
  types: {},
  questionOf(event) {
    const { objectId } = event
    if (objectId === undefined) return { event }
    return PLACE.test(objectId) ? { path: ['projects', ...objectId.split('/')], tokenHeader } : OBJECT_UNKNOWN
  },
  find: findInObject,
})

/** The collection of the API and the pointer to the number in it, by the kind of event. */
const COLLECTIONS: Readonly<Record<string, readonly [collection: string, number: string]>> = {
  merge_request: ['merge_requests', '/object_attributes/iid'],
  issue: ['issues', '/object_attributes/iid'],
  pipeline: ['pipelines', '/object_attributes/id'],
  build: ['jobs', '/build_id'],
}

const PLACE = /^\d{1,19}(?:\/(?:merge_requests|issues|pipelines|jobs)\/\d{1,19})?$/

/** The path of the object below `projects`; the path of the project if the event has no object. */
function placeOf(body: JsonObject): string | undefined {
  const project = toId(resolvePointer(body, '/project/id') ?? body.project_id)
  const kind = kindOf(body) ?? ''
  const [collection, pointer] = (Object.hasOwn(COLLECTIONS, kind) ? COLLECTIONS[kind] : undefined) ?? []
  if (collection === undefined || pointer === undefined) return project
  return `${project}/${collection}/${toId(resolvePointer(body, pointer))}`
}

/** The event according to GitLab. The same state of the same object is the same event, for every sender. */
function findInObject(object: JsonObject, { id, type, objectId }: WebhookEvent): FoundEvent {
  if (!objectId?.includes('/')) return { id, type, objectId }
  const status = object.state ?? object.status
  const state = [type, objectId, status, object.updated_at]
  return { id: state.map(String).join(':'), type, status, objectId, occurredAt: object.updated_at }
}
