import { notFound } from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import { AS_WRITTEN } from '@oncehook/kernel/mongo/majority'
import { EVENTS } from '@oncehook/queue/task'
import { PAYMENT_EVENT_TYPES } from '@oncehook/webhooks/providers'
import { z } from 'zod'
import { callFulfilment } from '../../http/fulfilment-client.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { ORDER_ID } from '../../orders/order-context.ts'
import { inputText, reasonSchema } from '../input-text.ts'
import { changingProcedure, type OperatorContext, procedure } from '../operator-trpc.ts'

const sendTestSchema = z.strictObject({
  provider: inputText(255),
  type: z.enum(PAYMENT_EVENT_TYPES).default('payment.succeeded'),
  /** Default: an order that does not exist or, where test events have effects, the newest pending order. */
  orderId: z.string().max(128).regex(ORDER_ID, { error: 'is not an order id' }).optional(),
  /** Minor units. Default: 10 EUR or, where test events have effects, the amount due of the order. */
  amount: z.int().min(1).max(1_000_000_000).optional(),
  reason: reasonSchema,
})

/**
 * `events.sendTest`: signs an event as its provider does, and receives it like a delivery. Its record is marked as a
 * test, so it has no effect, even if it is replayed. Only with `TEST_EVENTS=apply` it has the effects of a real event, if
 * there is an order for it. The audit log has an entry for each event that it tries to send.
 */
export const sendTestProcedure = changingProcedure.input(sendTestSchema).mutation(async ({ ctx, input }) => {
  const { reason, ...asked } = input
  const provider = ctx.providers().get(input.provider)
  if (provider === undefined) throw notFound({}, { message: 'No provider has this name' })
  const { limit } = ctx.testEvents
  const allowance = limit.count(ctx.operator)
  if (allowance.remaining < 0) throw limit.refusal(allowance)
  const event = { ...asked, ...(await chooseTestOrder(ctx, asked)) }
  const record = (result: object): Promise<void> =>
    ctx.audit.record({ by: ctx.operator, action: 'events.send-test', reason, details: { ...event, ...result } })
  // The entry of the audit log comes first. After a crash in between, no event is sent without an entry.
  await record({})
  const eventId = await ctx.testEvents
    .send({ ...event, provider, requestId: ctx.requestId })
    .catch(async (error: unknown) => {
      await record({ refused: toAppError(error).code })
      throw error
    })
  const projection = { state: 1, reason: 1 }
  const key = { provider: provider.name, eventId }
  const found = await ctx.db.collection<EventDocument>(EVENTS).findOne(key, { projection, ...AS_WRITTEN })
  if (found === null) throw notFound({}, { message: 'The test event was erased' })
  const id = String(found._id)
  ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, provider: provider.name, id }, 'event.test-sent')
  return { id, eventId, state: found.state, reason: found.reason }
})

/**
 * `events.testTarget`: what a test event does whose order is not named. `applies`: whether it has the effects of a real one. Then it
 * is about `order`, the newest pending one; null if there is none.
 */
export const testTargetProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const applies = ctx.testEvents.haveEffects
  const order = applies ? await findOrder(ctx, undefined) : null
  return { applies, order: order && { id: order.id, amountDue: order.amountDue, currency: order.currency } }
})

const USUAL = { amountDue: 1_000, currency: 'EUR' }

/**
 * Chooses the order of a test event. Where test events have effects, this is the named order or else the newest pending
 * one, with its amount due and its currency. Elsewhere fulfilment is not asked: an order that is not named does not exist.
 * @throws unavailable if fulfilment does not answer
 */
async function chooseTestOrder(
  ctx: OperatorContext,
  { orderId, amount }: Pick<z.output<typeof sendTestSchema>, 'orderId' | 'amount'>,
) {
  const order = ctx.testEvents.haveEffects ? await findOrder(ctx, orderId) : null
  const { amountDue, currency } = order ?? USUAL
  return { orderId: orderId ?? order?.id, amount: amount ?? amountDue, currency }
}

async function findOrder({ fulfilment: { orders }, requestId }: OperatorContext, id: string | undefined) {
  const trace = { context: { requestId } }
  if (id === undefined) {
    const { items } = await callFulfilment(orders.list.query({ status: 'pending', limit: 1 }, trace))
    return items[0] ?? null
  }
  return await callFulfilment(orders.get.query({ id }, trace)).catch((error: unknown) => {
    if (toAppError(error).status === NOT_FOUND) return null
    throw error
  })
}

const NOT_FOUND = 404
