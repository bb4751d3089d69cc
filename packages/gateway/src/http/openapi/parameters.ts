import type { JsonObject } from './operation.ts'
import orderSchemas from './order-schemas.json' with { type: 'json' }

const { limit, after, status } = orderSchemas.schemas.ListRequest.properties
const TAG = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"'
const BLANK = '[ \\t]*'
// RFC 9110 section 13.1.1: `*`, or a list, whose empty elements are ignored (section 5.6.1).
const ENTITY_TAGS = {
  type: 'string',
  maxLength: 4_096,
  anyOf: [{ const: '*' }, { pattern: `^(?:,${BLANK})*${TAG}(?:${BLANK},(?:${BLANK}${TAG})?)*$` }],
}
const IF_MATCH = {
  in: 'header',
  name: 'If-Match',
  description: 'Proceed only if the current version is one of these, by strong comparison; `*` matches any version',
  schema: ENTITY_TAGS,
  examples: { version: { value: '"1"' } },
}

/** Every parameter, by the name of its component. */
export const PARAMETERS = {
  Provider: {
    in: 'path',
    name: 'provider',
    required: true,
    description: 'The name of a provider in the settings',
    schema: { type: 'string', minLength: 1 },
    examples: { acme: { value: 'acme' } },
  },
  CrcToken: {
    in: 'query',
    name: 'crc_token',
    description: 'The token that X wants signed; exactly one',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,200}$' },
    examples: { token: { value: 'MDQ1NmE2YzQtZmI5Ny00ODEx' } },
  },
  HubMode: {
    in: 'query',
    name: 'hub.mode',
    description: 'What Meta asks for',
    schema: { type: 'string', enum: ['subscribe'] },
    examples: { mode: { value: 'subscribe' } },
  },
  HubVerifyToken: {
    in: 'query',
    name: 'hub.verify_token',
    description: 'The `verifyToken` of the provider, as it is entered at Meta',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    examples: { token: { value: 'a-token-of-the-shop' } },
  },
  HubChallenge: {
    in: 'query',
    name: 'hub.challenge',
    description: 'The number that Meta wants back',
    schema: { type: 'string', pattern: '^[1-9][0-9]{0,14}$' },
    examples: { challenge: { value: '1158201444' } },
  },
  BtChallenge: {
    in: 'query',
    name: 'bt_challenge',
    description: 'The challenge that Braintree wants signed; exactly one',
    schema: { type: 'string', pattern: '^[a-f0-9]{20,32}$' },
    examples: { challenge: { value: '20f9f8ed05f77439fe955c977e4c8a53' } },
  },
  OrderId: {
    in: 'path',
    name: 'id',
    required: true,
    description: 'The id of an order, created by the server (POST) or by the client (PUT)',
    schema: { $ref: '#/components/schemas/OrderId' },
    examples: { 'made by the client': { value: 'order-1001' } },
  },
  OrderSegment: {
    in: 'path',
    name: 'id',
    required: true,
    description: 'Any single path segment',
    schema: { type: 'string', minLength: 1 },
    examples: { 'made by the client': { value: 'order-1001' } },
  },
  Limit: { in: 'query', name: 'limit', description: 'The maximum number of orders', schema: limit },
  After: { in: 'query', name: 'after', description: 'The `next` of the previous page', schema: after },
  Status: { in: 'query', name: 'status', description: 'Only orders with this status', schema: status },
  IfMatch: IF_MATCH,
  RequiredIfMatch: { ...IF_MATCH, required: true },
  IfNoneMatch: {
    in: 'header',
    name: 'If-None-Match',
    description: 'Proceed only if the current version is none of these; `*`: only if the order does not exist',
    schema: ENTITY_TAGS,
    examples: { version: { value: '"1"' }, 'nothing there': { value: '*' } },
  },
  IdempotencyKey: {
    in: 'header',
    name: 'Idempotency-Key',
    description:
      'Makes a repeat of this request safe: it gets the stored answer. Use a new UUID for each order, with or without ' +
      'double quotes. A key is kept for 24 hours from its first use, unless the operator has configured another time',
    schema: {
      type: 'string',
      pattern: '^(?:[A-Za-z0-9_][A-Za-z0-9._~:+/=-]{0,254}|"(?:[ !#-\\[\\]-~]|\\\\["\\\\]){1,255}")$',
    },
    examples: { quoted: { value: '"8e03978e-40d5-43dd-bc93-6894a57f9324"' } },
  },
  Prefer: {
    in: 'header',
    name: 'Prefer',
    description: '`return=minimal` omits the order from the answer (RFC 7240); unknown preferences are ignored',
    schema: { type: 'string' },
    examples: { representation: { value: 'return=representation' } },
  },
} as const satisfies Readonly<Record<string, JsonObject>>

/** The component name of a parameter. */
export type ParameterName = keyof typeof PARAMETERS
