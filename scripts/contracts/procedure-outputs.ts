import { orderPageSchema } from '@oncehook/fulfilment/orders/list-orders'
import { orderSchema } from '@oncehook/fulfilment/orders/order'
import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import { z } from 'zod'

type Routers = FulfilmentRouter['_def']['record']

const retrySchema = z.enum(['now', 'later', 'never'])

const verdictSchema = z.union([
  z.strictObject({
    outcome: z.enum(['applied', 'superseded', 'already_paid', 'duplicate']),
    version: z.int().min(1),
  }),
  z.strictObject({ refused: z.string(), retry: retrySchema }),
])

const receiptSchema = z.strictObject({
  key: z.string(),
  orderId: z.string(),
  paymentId: z.string(),
  amount: z.int(),
  currency: z.string(),
  paidAt: z.iso.datetime(),
  state: z.enum(['owed', 'sending', 'sent', 'parked']),
  attempts: z.int().min(0),
  lastError: z.strictObject({ code: z.string(), at: z.iso.datetime() }).nullable(),
  sentAt: z.iso.datetime().nullable(),
})

/**
 * The output of each procedure of fulfilment. The compiler checks these schemas against the procedures' own types.
 * Nothing is parsed with them at run time, because an answer must not fail after its call took effect.
 */
export const procedureOutputs = {
  'orders.get': orderSchema,
  'orders.list': orderPageSchema,
  'orders.create': z.strictObject({ order: orderSchema, replayed: z.boolean() }),
  'orders.put': z.strictObject({ order: orderSchema, created: z.boolean() }),
  'orders.patch': orderSchema,
  'orders.delete': z.strictObject({ deleted: z.boolean() }),
  'payments.applyEvents': z.strictObject({ results: z.array(verdictSchema) }),
  'erasures.find': z.strictObject({
    orders: z.array(z.strictObject({ id: z.string(), isSettled: z.boolean() })),
  }),
  'erasures.erase': z.strictObject({ erased: z.int().min(0) }),
  'encryption.status': z.strictObject({
    firstKey: z.string().nullable(),
    keys: z.array(z.string()).readonly(),
    missing: z.array(z.string()).readonly(),
    leaving: z.array(z.string()).readonly(),
  }),
  'encryption.rotate': z.strictObject({
    examined: z.int().min(0),
    changed: z.int().min(0),
    unknown: z.int().min(0),
    altered: z.int().min(0),
    next: z.string().nullable(),
  }),
  'encryption.retire': z.strictObject({
    retired: z.array(z.string()).readonly(),
    inUse: z.array(z.string()).readonly(),
  }),
  'receipts.list': z.strictObject({ items: z.array(receiptSchema), next: z.string().nullable() }),
  'receipts.release': z.strictObject({ key: z.string(), orderId: z.string() }),
  'receipts.releaseAll': z.strictObject({ receipts: z.int().min(0), next: z.string().nullable() }),
} satisfies {
  readonly [Name in ProcedureName]: z.ZodType<OutputOf<Name>>
}

/** The name of a procedure of fulfilment, with the name of its router as a prefix. */
export type ProcedureName = {
  [Group in keyof Routers & string]: `${Group}.${keyof Routers[Group] & string}`
}[keyof Routers & string]

/** The output of the procedure with this name. */
export type OutputOf<Name extends string> = Name extends `${infer Group}.${infer Procedure}`
  ? Routers extends { readonly [G in Group]: { readonly [P in Procedure]: Answering<infer Output> } }
    ? Output
    : never
  : never

interface Answering<Output> {
  readonly _def: { readonly $types: { readonly output: Output } }
}
