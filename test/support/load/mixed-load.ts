import { randomUUID } from 'node:crypto'
import type { ApiOrder } from '../stack/records.ts'
import { paymentOf, type Stack } from '../stack/stack.ts'
import { until } from '../until.ts'
import type { WebhookSource } from './webhook-source.ts'

const AT_ONCE = 25

/** Makes orders that wait for their payments. */
export async function createOrders(stack: Pick<Stack, 'orders'>, count: number): Promise<ApiOrder[]> {
  const orders: ApiOrder[] = []
  while (orders.length < count) {
    const missing = Math.min(AT_ONCE, count - orders.length)
    orders.push(...(await Promise.all(Array.from({ length: missing }, () => stack.orders.create()))))
  }
  return orders
}

/** The same after a fault: retries until all are made, because a broken connection may show only when it is used. */
export async function createOrdersAfterFault(stack: Pick<Stack, 'orders'>, count: number): Promise<ApiOrder[]> {
  return until(
    () => createOrders(stack, count).catch((): ApiOrder[] => []),
    ({ length }) => length === count,
  )
}

/**
 * For every order a payment that failed and one that succeeded, the success three times; some events that nothing
 * handles, some that are tampered with. The orders follow each other in rounds, so that a fault finds all kinds in flight.
 */
export function addMixedLoad(source: WebhookSource, orders: readonly ApiOrder[]): void {
  const payments = orders.map((order) => paymentOf(order))
  const share = (part: number): readonly ApiOrder[] => orders.slice(0, Math.ceil(orders.length * part))
  for (const order of orders) source.add(paymentOf(order, { type: 'payment.failed', paymentId: `try_${order.id}` }))
  for (const payment of payments) source.add(payment)
  for (const order of share(0.4)) source.add(paymentOf(order, { type: 'invoice.created' }))
  for (const order of share(0.2)) source.add(paymentOf(order, { id: `evt_forged_${randomUUID()}` }), 'body')
  for (const payment of payments) source.add(payment)
  for (const payment of payments) source.add(payment)
}

/** Simulates the end of the half minute for which a dead process holds the receipts that it was sending. */
export async function outlastReceiptLeases(stack: Pick<Stack, 'orderRecords'>): Promise<void> {
  const sending = { 'receipts.state': 'sending' }
  await stack.orderRecords.updateMany(sending, [
    { $set: { receipts: { $map: { input: '$receipts', in: { $mergeObjects: ['$$this', DUE] } } } } },
  ])
}

const DUE = { $cond: [{ $eq: ['$$this.state', 'sending'] }, { dueAt: '$$NOW' }, {}] }
