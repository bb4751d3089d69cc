import { type LiveOrder, newOrder, ORDERS } from '@oncehook/fulfilment/orders/stored/order-document'
import type { Db } from 'mongodb'
import { PRICE } from '../load/signed-deliveries.ts'
import { DURABLE } from './receiver.ts'

const CHUNK = 10_000

/**
 * Makes `count` orders named `<prefix><n>`. It writes them directly into the database, in fulfilment's format, because
 * making orders is not part of the measurement.
 */
export async function insertOrders(fulfilment: Db, prefix: string, count: number): Promise<void> {
  const items = [{ sku: 'sku-1', quantity: 1, unitAmount: PRICE.amount }]
  const content = { customerId: 'customer-1', currency: PRICE.currency, items }
  const now = new Date()
  for (let from = 0; from < count; from += CHUNK) {
    const length = Math.min(CHUNK, count - from)
    const orders = Array.from({ length }, (_, index) => newOrder(`${prefix}${from + index}`, content, now))
    await fulfilment.collection<LiveOrder>(ORDERS).insertMany(orders, { ordered: false, writeConcern: DURABLE })
  }
}
