import { hash } from 'node:crypto'
import type { FulfilmentRouter } from '@oncehook/fulfilment/router'
import { preconditionFailed } from '@oncehook/kernel/http/error-codes'
import { formatEntityTag } from '@oncehook/kernel/http/preconditions'
import type { inferRouterOutputs } from '@trpc/server'
import { z } from 'zod'
import { callFulfilment } from '../http/fulfilment-client.ts'
import { ORDER_ID } from '../orders/order-context.ts'
import { inputText, reasonSchema } from './input-text.ts'
import { demandRole, type OperatorContext, procedure, recordFirst } from './operator-trpc.ts'

type Order = inferRouterOutputs<FulfilmentRouter>['orders']['get']

const idSchema = z.string().max(128).regex(ORDER_ID, { error: 'is not an order id' })

/** `orders.get`: what an order costs, and whether it is paid. Who bought it is not shown. */
export const getOrderProcedure = procedure
  .input(z.strictObject({ id: idSchema }))
  .query(async ({ ctx, input }) => showOrder(await readOrder(ctx, input.id)))

function readOrder({ fulfilment, requestId }: OperatorContext, id: string): Promise<Order> {
  return callFulfilment(fulfilment.orders.get.query({ id }, { context: { requestId } }))
}

function showOrder(order: Order) {
  const { id, version, status, access, amountDue, currency, items, payment, createdAt, updatedAt } = order
  return { id, version, status, access, amountDue, currency, items, payment, createdAt, updatedAt }
}

// Not part of `operate`: an operator who sets prices and replays payments can have an order paid below its price.
const correctingProcedure = procedure.use(({ next, ctx }) => {
  demandRole(ctx, 'orders')
  return next()
})

/** Fulfilment decides whether currency and items are valid. */
const correctionSchema = z
  .strictObject({
    id: idSchema,
    /** The version that the operator has seen. */
    version: z.int().min(1),
    currency: inputText(3).optional(),
    items: z
      .array(z.strictObject({ sku: inputText(255), quantity: z.int(), unitAmount: z.int() }))
      .max(1_000)
      .optional(),
    reason: reasonSchema,
  })
  .refine(({ currency, items }) => currency !== undefined || items !== undefined, {
    error: 'currency or items are needed',
  })

/**
 * `orders.correct`: changes the currency or the items of an order that is not paid, if it still has the version that the
 * operator has seen. The audit log has the amounts and the replaced items before and after, before the order is changed. Needs the role `orders`.
 */
export const correctOrderProcedure = correctingProcedure
  .input(correctionSchema)
  .mutation(async ({ ctx, input: { id, version, reason, ...patch } }) => {
    const order = await readOrder(ctx, id)
    if (order.version !== version) throw preconditionFailed({ version: order.version })
    const before = { amountDue: order.amountDue, currency: order.currency }
    const after = { amountDue: totalOf(patch.items) ?? before.amountDue, currency: patch.currency ?? before.currency }
    const details = {
      ...{ orderId: id, version },
      before: { ...before, ...(patch.items && { items: auditedItems(order.items) }) },
      after: { ...after, ...(patch.items && { items: auditedItems(patch.items) }) },
    }
    // The order names who has changed it. No client of `/api/orders` has such a name by accident.
    const context = { requestId: ctx.requestId, principal: `operator:${ctx.operator}` }
    const corrected = await recordFirst(ctx, { action: 'orders.correct', reason, details }, () =>
      callFulfilment(ctx.fulfilment.orders.patch.mutate({ id, patch, ifMatch: formatEntityTag(version) }, { context })),
    )
    ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, orderId: id }, 'order.corrected')
    return { before, order: showOrder(corrected) }
  })

const MOST_CHARACTERS = 2_000

/** Items for the audit log, which keeps them forever: as they are, or, if they are long, their number and the SHA-256 of their JSON. */
function auditedItems(items: Order['items']) {
  const text = JSON.stringify(items.map(({ sku, quantity, unitAmount }) => ({ sku, quantity, unitAmount })))
  return text.length > MOST_CHARACTERS ? { count: items.length, sha256: hash('sha256', text) } : items
}

/** The amount that items make: exact up to the largest that fulfilment accepts. */
function totalOf(items: Order['items'] | undefined): number | undefined {
  return items?.reduce((sum, { quantity, unitAmount }) => sum + quantity * unitAmount, 0)
}
