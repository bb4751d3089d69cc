import { isDuplicateKey, toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Collection, UpdateFilter } from 'mongodb'
import type { LiveOrder, OrderDocument } from './order-document.ts'

/** The orders as they are stored. */
export type Orders = Collection<OrderDocument>

/** Reads one order from the primary, a tombstone included; null when the id was never used. */
export function readOrder(orders: Orders, id: string): Promise<OrderDocument | null> {
  return reachable(orders.findOne({ _id: { $eq: id } }, { readPreference: 'primary', maxTimeMS: 4_000 }))
}

/** Inserts an order, durably on a majority. False: the id is taken. */
export async function insertOrder(orders: Orders, order: LiveOrder): Promise<boolean> {
  try {
    await orders.insertOne(order)
    return true
  } catch (error) {
    if (isDuplicateKey(error)) return false
    throw toUnavailable(error) ?? error
  }
}

/** Changes an order, durably on a majority, if it still has the version that was read. False: somebody was faster. */
export async function updateOrder(
  orders: Orders,
  read: Pick<OrderDocument, '_id' | 'version'>,
  update: UpdateFilter<OrderDocument>,
): Promise<boolean> {
  const result = await reachable(orders.updateOne({ _id: { $eq: read._id }, version: read.version }, update))
  return result.matchedCount === 1
}

async function reachable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}
