import { createSecretKey } from 'node:crypto'
import { headerLines } from '../../delivery.ts'
import type { WebhookEvent } from '../../event.ts'
import { resolvePointer } from '../../events/json-pointer.ts'
import { NO_PAYMENTS } from '../../events/permits.ts'
import { isEventText, type JsonObject, readStrictObject, toId } from '../../events/read-event.ts'
import { type FoundEvent, toEvent } from '../../events/to-event.ts'
import { unsignedType } from '../../events/unsigned-type.ts'
import { fetchSettings, readFromApi } from '../../provider-api/provider-api.ts'
import type { SharedSettings } from '../../settings/shared-settings.ts'
import { prepareClearToken } from '../../signatures/clear-token.ts'
import { idOfBytes } from '../../signatures/signed-body.ts'
import { prepareStandardCheck, readStandardKey, STANDARD_HEADERS } from '../generic/standard-webhooks.ts'
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
      return Buffer.from(text, 'utf8')
    },
    signedHeaders: () => [...STANDARD_HEADERS, TOKEN_HEADER],
    clearTokenHeader: TOKEN_HEADER,
    // With a plaintext token the window would protect nothing.
    redelivery: UNDOCUMENTED,
    permits: NO_PAYMENTS,
    signsTime: ({ fetch }) => fetch === undefined,
    prepare({ toleranceSeconds }, secrets) {
      const signing = secrets.filter(({ kind }) => kind === SIGNED)
      const bySignature = prepareStandardCheck(toleranceSeconds, signing)
      const byToken = prepareClearToken(
        TOKEN_HEADER,
        secrets.filter(({ kind }) => kind !== SIGNED),
      )
      return (delivery, now) => {
        const isSigned = headerLines(delivery.rawHeaders, 'webhook-signature').length > 0
        return isSigned && signing.length > 0 ? bySignature(delivery, now) : byToken(delivery, now)
      }
    },
    prepareReader:
      (settings) =>
      ({ rawBody, signedId }) => {
        const body = readStrictObject(rawBody, true)
        const id = signedId ?? idOfBytes(rawBody)
        if (settings.fetch === undefined) {
          return [toEvent({ ...findInBody(body), id }, { ...settings, types: {}, document: body })]
        }
        // The body is not trusted until GitLab has confirmed it, so nothing is mapped yet.
        const found = { id, type: unsignedType(kindOf(body)), objectId: placeOf(body) }
        return [toEvent(found, { types: {}, document: body })]
      },
    prepareConfirm: (settings) => {
      const { fetch: api } = settings
      if (api === undefined) return undefined
      const base = { ...api, baseUrl: `${api.baseUrl.replace(/\/+$/, '')}/api/v4` }
      return async (event, fetch) => {
        if (!PLACE.test(event.objectId)) return { refused: 'object_unknown' }
        const path = ['projects', ...event.objectId.split('/')]
        const object = await readFromApi(base, { path, tokenHeader }, fetch)
        return object === null ? { refused: 'object_unknown' } : { event: confirmedEvent(event, object, settings) }
      }
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

function findInBody(body: JsonObject): Omit<FoundEvent, 'id'> {
  const at = (pointer: string): unknown => resolvePointer(body, pointer)
  return {
    type: kindOf(body),
    status: at('/object_attributes/action') ?? at('/object_attributes/status') ?? body.build_status,
    objectId: at('/object_attributes/id') ?? body.build_id ?? body.project_id ?? at('/project/id'),
    occurredAt: at('/object_attributes/updated_at'),
  }
}

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
function confirmedEvent(event: WebhookEvent, object: JsonObject, settings: SharedSettings): WebhookEvent {
  const isProject = !event.objectId.includes('/')
  const status = isProject ? undefined : (object.state ?? object.status)
  const occurredAt = isProject ? undefined : object.updated_at
  const id = isProject ? event.id : [event.type, event.objectId, status, occurredAt].map(String).join(':')
  const found = { id, type: event.type, status, objectId: event.objectId, occurredAt }
  return toEvent(found, { ...settings, types: {}, document: object })
}
