import type { JsonObject } from './operations.ts'
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
const ORDER_IN_PATH = {
  in: 'path',
  name: 'id',
  required: true,
  examples: { 'made by the client': { value: 'order-1001' } },
}

export const PARAMETERS = {
  Provider: {
    in: 'path',
    name: 'provider',
    required: true,
    description: 'The name of a provider in the settings',
    schema: { type: 'string', minLength: 1 },
    examples: { acme: { value: 'acme' } },
  },
  OrderId: {
    ...ORDER_IN_PATH,
    description: 'The id of an order, created by the server (POST) or by the client (PUT)',
    schema: { $ref: '#/components/schemas/OrderId' },
  },
  OrderSegment: {
    ...ORDER_IN_PATH,
    description: 'Any single path segment',
    schema: { type: 'string', minLength: 1 },
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
} as const satisfies Readonly<Record<string, JsonObject>>

export type ParameterName = keyof typeof PARAMETERS

const { OrderContent, Order, OrderItem, OrderPage, OrderId, Currency } = orderSchemas.schemas
const ERROR_MEMBERS = {
  error: { type: 'string', minLength: 1, description: 'A sentence for people' },
  code: { type: 'string', pattern: '^[a-z][a-z_]*$', description: 'A code for programs; it never changes' },
  requestId: { type: 'string', minLength: 1, description: 'Identifies the request in our logs' },
}
// Text of 1 to 255 bytes, not only whitespace, without control characters.
const EVENT_TEXT = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
  description: '1 to 255 bytes of UTF-8',
}
const EVENT_ID = {
  ...EVENT_TEXT,
  type: ['string', 'integer'],
  description: '1 to 255 bytes of UTF-8, or a whole number',
}

const ORDER_REFERENCE = { description: 'The id of the order' }
// Only the id is required. Errors in the rest appear when the event is applied to its order.
const PAYMENT = {
  type: 'object',
  description: 'The payment. Its id is also the id of the order, unless another property names the order',
  required: ['id'],
  properties: {
    id: EVENT_ID,
    amount: { description: 'An integer in minor units; if present, it must be the amount due' },
    currency: { description: 'An ISO 4217 code in any case; if present, it must be the currency of the order' },
    orderId: ORDER_REFERENCE,
    order_id: ORDER_REFERENCE,
    metadata: { description: 'Names the order as `orderId` or `order_id`, if the payment itself does not' },
  },
  additionalProperties: true,
}

/** The schemas of the document. The order schemas come from the schemas with which fulfilment validates. */
export const SCHEMAS: Readonly<Record<string, JsonObject>> = {
  Order,
  OrderItem,
  OrderPage,
  OrderId,
  Currency,
  OrderInput: orderInput(),
  OrderPatch: orderPatch(),
  Event: {
    type: 'object',
    description:
      'The event that a delivery reports, in our own format. Properties that are not listed here are stored, but not read',
    required: ['id', 'type', 'data'],
    properties: {
      id: EVENT_ID,
      type: { ...EVENT_TEXT, description: '`payment.succeeded` and `payment.failed` have an effect' },
      data: {
        type: 'object',
        required: ['object'],
        properties: { object: PAYMENT },
        additionalProperties: true,
      },
    },
    additionalProperties: true,
  },
  Received: closed({ received: { const: true } }),
  Health: closed({ status: { const: 'ok' } }),
  Error: closed(ERROR_MEMBERS),
}

/** An object that has these properties, and no others. */
function closed(properties: JsonObject): JsonObject {
  return { type: 'object', required: Object.keys(properties), properties, additionalProperties: false }
}

function serverMembers(): JsonObject {
  const added = Object.entries(Order.properties).filter(([name]) => !(name in OrderContent.properties))
  return Object.fromEntries(added.map(([name, schema]) => [name, { ...schema, readOnly: true }]))
}

function orderInput(): JsonObject {
  return {
    ...OrderContent,
    description:
      'An order as a client sends it. Properties that the server adds are ignored, so that an order can be read and ' +
      'written back. Only an `id` that does not match the URL is rejected',
    properties: { ...OrderContent.properties, ...serverMembers() },
  }
}

function orderPatch(): JsonObject {
  const { customerId, currency, items, email, note, metadata } = OrderContent.properties
  const orGone = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })
  const { additionalProperties: value, maxProperties: _, ...names } = metadata
  return {
    type: 'object',
    description:
      'A merge patch (RFC 7396): null removes a property, arrays are replaced as a whole, and the result must be an ' +
      'order. A property that the server adds must have its current value',
    properties: {
      customerId,
      currency,
      items,
      email: orGone(email),
      note: orGone(note),
      metadata: orGone({ ...names, additionalProperties: orGone(value) }),
      ...serverMembers(),
    },
    // Removing an absent property changes nothing.
    additionalProperties: { type: 'null' },
  }
}

export function schemaReference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}
