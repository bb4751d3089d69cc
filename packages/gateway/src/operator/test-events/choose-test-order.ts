import { toAppError } from '@oncehook/kernel/http/errors'
import { callFulfilment } from '../../fulfilment/call-fulfilment.ts'
import type { OperatorContext } from '../operator-trpc.ts'

/** What an operator wants a test event to be about. */
interface AskedOrder {
  readonly orderId?: string | undefined
  /** Minor units. */
  readonly amount?: number | undefined
}

/** The order of a test event, and what was paid for it. */
export interface TestOrder {
  /** Absent: no order was named, and none was found. */
  readonly orderId?: string | undefined
  /** Minor units. */
  readonly amount: number
  /** ISO 4217. */
  readonly currency: string
}

const USUAL = { amountDue: 1_000, currency: 'EUR' }

/**
 * Chooses the order of a test event. Where test events have effects, this is the named order or else the newest pending
 * one, with its amount due and its currency. Elsewhere fulfilment is not asked: an order that is not named does not exist.
 * @throws unavailable if fulfilment does not answer
 */
export async function chooseTestOrder(ctx: OperatorContext, { orderId, amount }: AskedOrder): Promise<TestOrder> {
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
