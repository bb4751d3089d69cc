import type { JsonObject } from './operation.ts'

const text = (description: string): JsonObject => ({ description, schema: { type: 'string' } })
const always = (header: JsonObject): JsonObject => ({ ...header, required: true })
const ENTITY_TAG = { type: 'string', pattern: '^"[0-9]+"$' }
const ORDER_PATH = { type: 'string', pattern: '^/api/orders/[A-Za-z0-9._~-]{1,128}$' }

/** Every header that an answer may have, by the name of its component; `name` is the name on the wire. */
const HEADERS = {
  RequestId: {
    name: 'X-Request-Id',
    object: always(text('Identifies the request in our logs; an id from the client is logged separately')),
  },
  CacheControl: {
    name: 'Cache-Control',
    object: always(text('`no-store` on errors and orders: caches must not store them')),
  },
  ETag: {
    name: 'ETag',
    object: always({ description: 'The version of the order in this body, a strong entity tag', schema: ENTITY_TAG }),
  },
  CurrentETag: {
    name: 'ETag',
    object: { description: 'The current version; absent if the order does not exist', schema: ENTITY_TAG },
  },
  Location: { name: 'Location', object: always({ description: 'The new order', schema: ORDER_PATH }) },
  ContentLocation: {
    name: 'Content-Location',
    object: always({ description: 'The body is the current representation of this order', schema: ORDER_PATH }),
  },
  NewContentLocation: {
    name: 'Content-Location',
    object: {
      description: 'The body, if not omitted, is the current representation of this order',
      schema: ORDER_PATH,
    },
  },
  IdempotentReplayed: {
    name: 'Idempotent-Replayed',
    object: {
      description: 'This is the answer to an earlier request with this Idempotency-Key',
      schema: { type: 'string', const: 'true' },
    },
  },
  PreferenceApplied: {
    name: 'Preference-Applied',
    object: {
      description: 'The preference that was applied (RFC 7240)',
      schema: { type: 'string', enum: ['return=minimal', 'return=representation'] },
    },
  },
  Allow: { name: 'Allow', object: always(text('The methods of the resource')) },
  AcceptPatch: { name: 'Accept-Patch', object: always(text('The formats that PATCH accepts (RFC 5789)')) },
  TakenPatches: { name: 'Accept-Patch', object: text('The formats that PATCH accepts (RFC 5789)') },
  TakenTypes: { name: 'Accept', object: text('The accepted media types, if the media type was rejected') },
  TakenCodings: { name: 'Accept-Encoding', object: text('The accepted coding, if the coding was rejected') },
  Challenge: { name: 'WWW-Authenticate', object: always(text('How to authenticate (RFC 9110 section 11.6.1)')) },
  RetryAfter: {
    name: 'Retry-After',
    object: always({ description: 'Seconds to wait before the next attempt', schema: { type: 'integer', minimum: 1 } }),
  },
  RateLimit: { name: 'RateLimit', object: text('The rest of the limit in this window, if there is a limit') },
  RateLimitPolicy: { name: 'RateLimit-Policy', object: text('The limit and its window, if there is a limit') },
  Link: { name: 'Link', object: text('The documentation of the Idempotency-Key') },
  Vary: { name: 'Vary', object: text('The request headers on which the answer depends') },
  AllowOrigin: { name: 'Access-Control-Allow-Origin', object: text('The listed origin that may read the answer') },
  ExposeHeaders: {
    name: 'Access-Control-Expose-Headers',
    object: text('Headers that scripts of that origin may read'),
  },
  AllowMethods: { name: 'Access-Control-Allow-Methods', object: text('Only in the answer to a preflight') },
  AllowHeaders: { name: 'Access-Control-Allow-Headers', object: text('Only in the answer to a preflight') },
  MaxAge: {
    name: 'Access-Control-Max-Age',
    object: { description: 'Seconds for which a preflight is valid', schema: { type: 'integer', minimum: 1 } },
  },
} as const satisfies Readonly<Record<string, { name: string; object: JsonObject }>>

/** The component name of a header. */
export type HeaderName = keyof typeof HEADERS

/** The `headers` of a response: references to the components, under the names on the wire. */
export function headerReferences(names: Iterable<HeaderName>): JsonObject {
  const references = [...new Set(names)].map((name) => [HEADERS[name].name, { $ref: `#/components/headers/${name}` }])
  return Object.fromEntries(references)
}

/** The components of all headers. */
export function headerComponents(): JsonObject {
  return Object.fromEntries(Object.entries(HEADERS).map(([name, { object }]) => [name, object]))
}
