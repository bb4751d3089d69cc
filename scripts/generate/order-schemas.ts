import * as errors from '@oncehook/fulfilment/errors'
import { orderContentSchema } from '@oncehook/fulfilment/orders/order'
import {
  listRequestSchema,
  orderIdSchema,
  orderPageSchema,
  orderSchema,
} from '@oncehook/fulfilment/orders/order-schemas'
import { z } from 'zod'

/** The schemas of fulfilment for the gateway's OpenAPI document, written to a file: at run time the gateway knows only its types. */
export interface OrderSchemas {
  readonly schemas: Readonly<Record<string, unknown>>
  readonly errors: Readonly<Record<string, unknown>>
}

/** The schemas that fulfilment validates orders with, as JSON Schema, and its error catalogue. */
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
      // Of an address the pattern is what is checked; of a time the format says the same in one word.
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
