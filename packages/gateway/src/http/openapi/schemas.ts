import type { JsonObject } from './operation.ts'
import orderSchemas from './order-schemas.json' with { type: 'json' }

const { OrderContent, Order, OrderItem, OrderPage, OrderId, Currency } = orderSchemas.schemas
const REQUEST_ID = { type: 'string', minLength: 1, description: 'Names the request in our logs' }
const ERROR_MEMBERS = {
  error: { type: 'string', minLength: 1, description: 'One sentence for a person' },
  code: { type: 'string', pattern: '^[a-z][a-z_]*$', description: 'One word for a program; it never changes' },
  requestId: REQUEST_ID,
}
// Text of 1 to 255 bytes, not only white space, without control characters.
const EVENT_TEXT = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f][^\\x00-\\x1f\\x7f-\\x9f]*$',
  description: '1 to 255 bytes of UTF-8',
}

const ORDER_REFERENCE = { description: 'The id of the order' }
// Only the id is demanded: what is wrong with the rest shows when the event meets its order.
const PAYMENT = {
  type: 'object',
  description: 'The payment; its id is the order’s too, where no other member names one',
  required: ['id'],
  properties: {
    id: EVENT_TEXT,
    amount: { description: 'An integer in minor units; where it is present it must be the amount due' },
    currency: { description: 'ISO 4217 in any case; where it is present it must be the currency of the order' },
    orderId: ORDER_REFERENCE,
    order_id: ORDER_REFERENCE,
    metadata: { description: 'Names the order as `orderId` or `order_id`, where the payment itself does not' },
  },
  additionalProperties: true,
}

/** The schemas of the document; those of orders come from the schemas that fulfilment validates with. */
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
      'What a delivery tells, in the shape of our own; members that are not named here are kept and not read',
    required: ['id', 'type', 'data'],
    properties: {
      id: EVENT_TEXT,
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
  Received: {
    type: 'object',
    required: ['received'],
    properties: { received: { const: true } },
    additionalProperties: false,
  },
  CheckAnswer: {
    type: 'object',
    required: ['response_token'],
    properties: { response_token: { type: 'string', pattern: '^sha256=[A-Za-z0-9+/]{43}=$' } },
    additionalProperties: false,
  },
  Health: {
    type: 'object',
    required: ['status'],
    properties: { status: { const: 'ok' } },
    additionalProperties: false,
  },
  Error: {
    type: 'object',
    required: ['error', 'code', 'requestId'],
    properties: ERROR_MEMBERS,
    additionalProperties: false,
  },
  Problem: {
    type: 'object',
    description: 'The same facts as a problem document (RFC 9457), for who names its media type in Accept',
    required: ['type', 'title', 'status', 'detail', 'error', 'code', 'requestId'],
    properties: {
      type: { type: 'string', const: 'about:blank' },
      title: { type: 'string' },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      detail: { type: 'string' },
      ...ERROR_MEMBERS,
    },
    additionalProperties: false,
  },
}

/** The members that the server adds to an order. */
function serverMembers(): JsonObject {
  const added = Object.entries(Order.properties).filter(([name]) => !(name in OrderContent.properties))
  return Object.fromEntries(added.map(([name, schema]) => [name, { ...schema, readOnly: true }]))
}

function orderInput(): JsonObject {
  return {
    ...OrderContent,
    description:
      'An order as a caller writes it. Members that the server adds are passed over, so that what was read can be ' +
      'written back; only an `id` that contradicts the address is refused',
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
      'A merge patch (RFC 7396): null removes a member, arrays are replaced whole, and the result must be an order. ' +
      'A member that the server adds may only have the value that it has',
    properties: {
      customerId,
      currency,
      items,
      email: orGone(email),
      note: orGone(note),
      metadata: orGone({ ...names, additionalProperties: orGone(value) }),
      ...serverMembers(),
    },
    // Removing what is not there changes nothing.
    additionalProperties: { type: 'null' },
  }
}

/** A reference to one of the schemas. */
export function schemaReference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}
