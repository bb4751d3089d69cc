import { type HandlerEvent, Refusal } from '@oncehook/handler'
import type { MongoTransaction } from '@oncehook/handler/mongo'

/** An order, as the shop has always kept it. Amounts are in minor units. */
interface Order {
  readonly _id: string
  readonly email: string
  readonly total: number
  readonly currency: string
  readonly status: 'open' | 'paid'
  readonly payment?: { readonly id: string; readonly at: Date | null }
  /** Payments beyond the first one, which somebody has to pay back. */
  readonly surplus?: readonly string[]
}

/** Marks the order of a payment as paid. A second payment of the same order is written down, and changes nothing else. */
export async function markPaid(event: HandlerEvent, { db, session, later }: MongoTransaction): Promise<void> {
  const orders = db.collection<Order>('orders')
  const payment = readPayment(event)
  const order = await orders.findOne({ _id: payment.orderId }, { session })
  // The shop may write the order after the customer has paid. After some days without it, the gateway keeps the event as dead.
  if (order === null) throw new Refusal('later', 'The order is unknown')
  if (order.status === 'paid') {
    await orders.updateOne({ _id: order._id }, { $addToSet: { surplus: payment.id } }, { session })
    return
  }
  if (payment.amount !== order.total || payment.currency !== order.currency) {
    throw new Refusal('never', 'The payment has another amount or currency than the order')
  }
  const paid = { status: 'paid', payment: { id: payment.id, at: event.occurredAt } } as const
  await orders.updateOne({ _id: order._id }, { $set: paid }, { session })
  later('confirmation', { order: order._id, email: order.email })
}

interface Payment {
  readonly id: string
  readonly orderId: string
  readonly amount: number
  readonly currency: string
}

interface Intent {
  readonly id?: string
  readonly amount_received?: number
  readonly currency?: string
  readonly metadata?: { readonly order_id?: string }
}

function readPayment({ data }: HandlerEvent): Payment {
  const { id, amount_received: amount, currency, metadata } = (data as { object?: Intent } | undefined)?.object ?? {}
  const orderId = metadata?.order_id
  if (id && amount !== undefined && currency && orderId) return { id, amount, currency, orderId }
  throw new Refusal('never', 'The event has no payment with an amount, a currency and the id of an order')
}
