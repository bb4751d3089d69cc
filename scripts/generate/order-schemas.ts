import * as errors from '@oncehook/fulfilment/errors'
import { listRequestSchema, orderPageSchema } from '@oncehook/fulfilment/orders/list-orders'
import { orderContentSchema, orderIdSchema, orderSchema } from '@oncehook/fulfilment/orders/order'
import { z } from 'zod'

/**
 * The schemas of fulfilment for the gateway's OpenAPI document. They are written to a file, because at run time the
 * gateway knows only the types of fulfilment.
 */
export interface OrderSchemas {
  readonly schemas: Readonly<Record<string, unknown>>
  readonly errors: Readonly<Record<string, unknown>>
}

/** The schemas that validate orders in fulfilment, as JSON Schema, and its error catalogue. */
export function describeOrders(): OrderSchemas {
  return { schemas: toJsonSchemas(), errors: toCatalogue() }
}

function toJsonSchemas(): OrderSchemas['schemas'] {
  const named = z
    .registry<{ id: string }>()
    .add(orderContentSchema, { id: 'OrderContent' })
    .add(orderContentSchema.shape.currency, { id: 'Currency' })
    .add(orderContentSchema.shape.items.element, { id: 'OrderItem' })
    .add(orderIdSchema, { id: 'OrderId' })
    .add(orderSchema, { id: 'Order' })
    .add(orderPageSchema, { id: 'OrderPage' })
    .add(listRequestSchema, { id: 'ListRequest' })
  const { schemas } = z.toJSONSchema(named, {
    io: 'input',
    metadata: z.globalRegistry,
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // An email address is checked with the pattern, so the format is omitted. For a time, the format alone says the
      // same.
      if (jsonSchema.format === 'email') delete jsonSchema.format
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  const described = Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema])
  return Object.fromEntries(described)
}

function toCatalogue(): OrderSchemas['errors'] {
  const entries = Object.values(errors).filter((exported) => 'status' in exported)
  return Object.fromEntries(entries.map(({ code, status, retry, message }) => [code, { code, status, retry, message }]))
}
