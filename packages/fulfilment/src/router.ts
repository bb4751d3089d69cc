// All that fulfilment can be asked, and the only way in: every procedure with the check of its input, what a procedure gets
// (`Context`), and the base that they share. A procedure only translates: what it does is in the folder of its noun. The
// gateway and the contracts read their types from here.

import { invalidRequest, unavailable } from '@oncehook/kernel/http/error-codes'
import { AppError } from '@oncehook/kernel/http/errors'
import { formatEntityTag } from '@oncehook/kernel/http/preconditions'
import type { KeyRegister } from '@oncehook/kernel/mongo/key-register'
import { formatTrpcError, toTrpcError } from '@oncehook/kernel/rpc/trpc-errors'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/time/waits'
import { initTRPC } from '@trpc/server'
import { z } from 'zod'
import { encryptionKeyDiffers, orderNotFound, orderUnreadable } from './errors.ts'
import { deleteOrder, patchOrder, putOrder } from './orders/change-order.ts'
import { type CreateDeps, createOrder } from './orders/create-order.ts'
import { type EraseDeps, eraseOrders, findErasable, MOST_ORDERS } from './orders/erase-orders.ts'
import { type ListDeps, listOrders, listRequestSchema, ownerSchema } from './orders/list-orders.ts'
import { type Order, orderIdSchema } from './orders/order.ts'
import { isForeign, isLive, toOrder } from './orders/stored/order-document.ts'
import { demandReadable, openOrder, reportUnreadable } from './orders/stored/order-encryption.ts'
import { readOrder } from './orders/stored/order-store.ts'
import { type ApplyDeps, applyEvents } from './payments/apply-events.ts'
import type { ApplyResult } from './payments/decide-order.ts'
import { paymentEventSchema } from './payments/payment-event.ts'
import { listReceipts, receiptListSchema } from './receipts/list-receipts.ts'
import { releaseAllReceipts, releaseReceipt } from './receipts/release-receipt.ts'
import { type RotationSource, rotateAnswers, rotateOrders } from './rotate-records.ts'
import type { UseCall } from './used-calls.ts'

export interface UseCases {
  readonly useCall: UseCall
  readonly orders: CreateDeps & ListDeps
  readonly payments: ApplyDeps
  /** Records the steps of the protocol, for tests. Default: nothing is recorded. */
  readonly recording?: Recording | undefined
  readonly erasures: EraseDeps
  readonly encryption: RotationSource & { readonly register: KeyRegister }
  /** Counts event outcomes and refusal codes. */
  readonly countResult: (verdict: string) => void
}

/**
 * Records the steps of the protocol, so that a test can compare them with the model in `docs/model`. It returns the same
 * part, which also records its steps. In production there is no recording, and no part is replaced.
 */
export interface Recording {
  /** The calls that apply payments: their reads, their writes and their answers. */
  calls(apply: typeof applyEvents): typeof applyEvents
}

export interface Context {
  readonly useCases: UseCases
  /** The If-Match header of the request. A single-order procedure uses it if its input property is absent. */
  readonly ifMatch: string | undefined
  /** The principal on whose behalf the gateway calls; null: the gateway itself. */
  readonly principal: string | null
  readonly callId: string
  /** What the procedure adds to the HTTP response (the version for its ETag) and to the log line of the call. */
  readonly answer: { version?: number; facts?: Readonly<Record<string, unknown>> }
}

export function answerHeaders({ answer }: Context): Record<string, string> {
  return answer.version === undefined ? {} : { ETag: formatEntityTag(answer.version) }
}

const t = initTRPC.context<Context>().create({ isDev: false, errorFormatter: formatTrpcError })

const LATE_MS = 9_000

/**
 * The base of every procedure. Catalogue errors keep their status, and every call ends within the 10 s of a request.
 * Work that continues after a late answer is safe to request again.
 */
const procedure = t.procedure.use(async ({ ctx, next }) => {
  const result = await withTimeout(next(), LATE_MS)
  if (result === TIMED_OUT) throw toTrpcError(unavailable({ reason: 'late' }))
  if (result.ok) return result
  const { cause } = result.error
  // The caller can do nothing about it: an operator must.
  if (orderUnreadable.is(cause))
    reportUnreadable(ctx.useCases.orders.logger, { ...cause.details, orderId: String(cause.details.orderId) })
  if (cause instanceof AppError) throw toTrpcError(cause)
  return result
})

/**
 * The base of changes that would have an effect again, if their call was sent again after another change. All others are safe: the
 * id of a call makes one order, and an event is applied once.
 */
const changing = procedure.use(async ({ ctx, next }) => {
  await ctx.useCases.useCall(ctx.callId)
  return next()
})

const conditionSchema = z.string().max(4_096).optional()
/** What a write of an order may depend on. */
const conditions = { ifMatch: conditionSchema, ifNoneMatch: conditionSchema, owner: ownerSchema }
/** A key, a customer or another name. */
const keyText = z.string().min(1).max(255)

/** `orders.get`: returns one order, NOT_FOUND, or CONFLICT if it is damaged. */
const getOrderProcedure = procedure
  .input(z.strictObject({ id: orderIdSchema, owner: ownerSchema }))
  .query(async ({ ctx, input }) => {
    const found = await readOrder(ctx.useCases.orders.orders, input.id)
    if (!isLive(found) || isForeign(found, input.owner)) throw orderNotFound()
    demandReadable(found)
    return tagged(ctx, toOrder(openOrder(found, ctx.useCases.orders.encryption)))
  })

const listOrdersProcedure = procedure
  .input(listRequestSchema)
  .query(({ ctx, input }) => listOrders(ctx.useCases.orders, input))

const createOrderProcedure = procedure
  .input(
    z.strictObject({
      order: z.unknown(),
      idempotency: z.strictObject({ principal: keyText, key: keyText, fingerprint: keyText }).optional(),
      owner: ownerSchema,
    }),
  )
  .mutation(async ({ ctx, input }) => {
    const created = await createOrder(ctx.useCases.orders, { ...input, principal: ctx.principal, callId: ctx.callId })
    tagged(ctx, created.order)
    return created
  })

const putOrderProcedure = changing
  .input(z.strictObject({ id: orderIdSchema, order: z.unknown(), ...conditions }))
  .mutation(async ({ ctx, input }) => {
    const result = await putOrder(ctx.useCases.orders, writeOf(ctx, input))
    tagged(ctx, result.order)
    return result
  })

const patchOrderProcedure = changing
  .input(z.strictObject({ id: orderIdSchema, patch: z.unknown(), ...conditions }))
  .mutation(async ({ ctx, input }) => tagged(ctx, await patchOrder(ctx.useCases.orders, writeOf(ctx, input))))

const deleteOrderProcedure = changing
  .input(z.strictObject({ id: orderIdSchema, ...conditions }))
  .mutation(({ ctx, input }) => deleteOrder(ctx.useCases.orders, writeOf(ctx, input)))

function tagged(ctx: Context, order: Order): Order {
  ctx.answer.version = order.version
  return order
}

/**
 * A write of an order: its input, its caller, and its precondition, from an input property or otherwise from the
 * header.
 */
function writeOf<Input extends { readonly ifMatch?: string | undefined }>(
  { principal, ifMatch }: Context,
  input: Input,
) {
  if (input.ifMatch !== undefined && ifMatch !== undefined && input.ifMatch !== ifMatch) {
    throw invalidRequest({}, { message: 'The If-Match header and the ifMatch property differ' })
  }
  return { ...input, principal, ifMatch: input.ifMatch ?? ifMatch }
}

const MAX_EVENTS = 500

/** `payments.applyEvents`: applies each event to its order at most once. Answers are in input order. */
const applyEventsProcedure = procedure
  .input(z.object({ events: z.array(paymentEventSchema).min(1).max(MAX_EVENTS) }))
  .mutation(async ({ ctx, input }): Promise<{ results: ApplyResult[] }> => {
    const { payments, recording } = ctx.useCases
    const apply = recording?.calls(applyEvents) ?? applyEvents
    const results = await apply(payments, input.events)
    const counts: Record<string, number> = {}
    for (const result of results) {
      const name = 'outcome' in result ? result.outcome : result.refused
      ctx.useCases.countResult(name)
      counts[name] = (counts[name] ?? 0) + 1
    }
    ctx.answer.facts = { events: results.length, results: counts }
    return { results }
  })

const listReceiptsProcedure = procedure
  .input(receiptListSchema)
  .query(({ ctx, input }) => listReceipts(ctx.useCases.orders.orders, input))

const releaseReceiptProcedure = changing
  .input(z.strictObject({ key: keyText }))
  .mutation(({ ctx, input }) => releaseReceipt(ctx.useCases.orders.orders, input.key))

/** `receipts.releaseAll`: releases the parked receipts of the next orders after one, or counts all. */
const releaseAllReceiptsProcedure = changing
  .input(z.strictObject({ after: z.string().min(1).max(128).nullable(), dryRun: z.boolean() }))
  .mutation(({ ctx, input }) => releaseAllReceipts(ctx.useCases.orders.orders, input))

const orderIdsSchema = z.array(orderIdSchema).max(MOST_ORDERS)

/** `erasures.find`: up to 100 orders that hold personal data, of one customer or from a list of ids. */
const findErasableProcedure = procedure
  .input(z.union([z.strictObject({ customerId: keyText }), z.strictObject({ orderIds: orderIdsSchema })]))
  .query(({ ctx, input }) => findErasable(ctx.useCases.erasures, input))

/**
 * `erasures.erase`: deletes the orders and removes all customers from them, or one customer only; keys and hashes are
 * kept.
 */
const eraseOrdersProcedure = changing
  .input(z.strictObject({ orderIds: orderIdsSchema, customerId: keyText.optional() }))
  .mutation(({ ctx, input }) => eraseOrders(ctx.useCases.erasures, input.orderIds, input.customerId))

const nothing = z.strictObject({})

/** `encryption.status`: the keys this process has, and the keys it lacks although records are encrypted with them. */
const encryptionStatusProcedure = procedure.input(nothing).query(({ ctx }) => ctx.useCases.encryption.register.status())

// Missing where an earlier gateway asks: it rotates to whatever key is the first one here, and retires none.
const keySchema = keyText.optional()

// The name of a rotation: what one leaves behind is not retired at the end of another.
const rotationSchema = keyText.default('unnamed')

const part = { dryRun: z.boolean(), key: keySchema, rotation: rotationSchema }

const requestSchema = z.discriminatedUnion('collection', [
  z.strictObject({
    collection: z.literal('orders'),
    after: z.string().min(1).max(1_024).nullable(),
    ...part,
  }),
  z.strictObject({
    collection: z.literal('idempotency_keys'),
    after: z
      .string()
      .regex(/^[0-9a-f]{24}$/)
      .nullable(),
    ...part,
  }),
])

/**
 * `encryption.rotate`: a part of a collection is encrypted by the first key, or only counted. Again does no harm. CONFLICT where `key`
 * is not the first one.
 */
const rotateEncryptionProcedure = procedure
  .input(requestSchema)
  .mutation(async ({ ctx, input: { collection, key, rotation, ...request } }) => {
    const { register, ...source } = ctx.useCases.encryption
    // One key for the whole part, whatever the file says meanwhile.
    const encryption = source.encryption.pin()
    if (key !== undefined && encryption.firstKey !== key) throw encryptionKeyDiffers({ key })
    if (collection === 'orders') {
      if (request.after === null && !request.dryRun) await register.beginRotation(rotation)
      return rotateOrders({ ...source, encryption }, request)
    }
    return rotateAnswers({ ...source, encryption }, request)
  })

/**
 * `encryption.retire`: after a rotation of all records to `key`, forgets the keys that no process has encrypted with
 * since it began. Forgets none if `key` is missing, or is not the first one.
 */
const retireKeysProcedure = procedure
  .input(z.strictObject({ key: keySchema, rotation: rotationSchema }))
  .mutation(async ({ ctx, input: { key, rotation } }) =>
    key === undefined ? { retired: [], inUse: [] } : await ctx.useCases.encryption.register.retire(key, rotation),
  )

export const fulfilmentRouter = t.router({
  orders: t.router({
    get: getOrderProcedure,
    list: listOrdersProcedure,
    create: createOrderProcedure,
    put: putOrderProcedure,
    patch: patchOrderProcedure,
    delete: deleteOrderProcedure,
  }),
  payments: t.router({
    applyEvents: applyEventsProcedure,
  }),
  erasures: t.router({ find: findErasableProcedure, erase: eraseOrdersProcedure }),
  encryption: t.router({
    status: encryptionStatusProcedure,
    rotate: rotateEncryptionProcedure,
    retire: retireKeysProcedure,
  }),
  receipts: t.router({
    list: listReceiptsProcedure,
    release: releaseReceiptProcedure,
    releaseAll: releaseAllReceiptsProcedure,
  }),
})

export type FulfilmentRouter = typeof fulfilmentRouter
