import { setTimeout as sleep } from 'node:timers/promises'
import type { Encryption } from '@oncehook/kernel/encryption'
import { unavailable } from '@oncehook/kernel/error-codes'
import { isDuplicateKey, toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Collection, Document, UpdateFilter } from 'mongodb'
import { DURABLE_READ } from '../durable-read.ts'
import { isLive, type LiveOrder, type OrderDocument, type UnstoredOrder } from './order-document.ts'
import { sealMembers } from './order-encryption.ts'

/** The orders as they are stored. */
export type Orders = Collection<OrderDocument>

/** Where orders are, and how what is personal of them is written and read. */
export interface OrderCollection {
  readonly orders: Orders
  readonly encryption: Encryption
}

/** Reads one order as a majority holds it, a tombstone included; null when the id was never used. */
export function readOrder(orders: Orders, id: string): Promise<OrderDocument | null> {
  return reachable(orders.findOne({ _id: { $eq: id } }, DURABLE_READ))
}

/** Whether an id is in use, tombstones included, durably on a majority. */
export async function isStored(orders: Orders, id: string): Promise<boolean> {
  const found = orders.findOne({ _id: { $eq: id } }, { ...DURABLE_READ, projection: { _id: 1 } })
  return (await reachable(found)) !== null
}

/** What no reader of an order sees. */
export const HIDDEN = { applied: 0, receipts: 0, paidBy: 0, formerCustomers: 0 } as const

/** The times of an order that is made now, by the database's clock: the clocks of processes differ. */
export const MADE_NOW = { createdAt: '$$NOW', updatedAt: '$$NOW' } as const

/**
 * Inserts an order, durably on a majority, with what is personal of it encrypted where that is on; its answer is what is stored.
 * Null: the id is taken, durably too.
 */
export async function insertOrder(
  { orders, encryption }: OrderCollection,
  order: UnstoredOrder,
): Promise<LiveOrder | null> {
  // No stored order matches, so a taken id is a duplicate key, as with an insert. Only an update knows `$$NOW`.
  const filter = { _id: { $eq: order._id }, version: { $exists: false } }
  const pipeline = [
    { $replaceWith: { $mergeObjects: [MADE_NOW, { $literal: sealMembers(order._id, order, encryption) }] } },
  ]
  try {
    const made = await orders.findOneAndUpdate(filter, pipeline, { upsert: true, returnDocument: 'after' })
    if (!isLive(made)) throw new Error('An upsert gave no order')
    return made
  } catch (error) {
    // A mongos may leave out that no majority confirmed it: the order that has the id may yet be rolled back.
    if (isDuplicateKey(error) && (await isStored(orders, order._id))) return null
    throw toUnavailable(error) ?? error
  }
}

/**
 * Changes an order, durably on a majority, if it still has the version that was read. Resolves to what is stored then,
 * without what no reader sees. Null: somebody was faster.
 */
export function updateOrder(
  orders: Orders,
  read: Pick<OrderDocument, '_id' | 'version'>,
  update: UpdateFilter<OrderDocument> | Document[],
): Promise<OrderDocument | null> {
  const filter = { _id: { $eq: read._id }, version: read.version }
  return reachable(orders.findOneAndUpdate(filter, update, { returnDocument: 'after', projection: HIDDEN }))
}

async function reachable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}

const MAX_ROUNDS = 64
const LAST_ROUND_BEGINS_MS = 6_000
const WAIT_MS = 20

/**
 * Runs a round of "read, decide, write if nobody was faster" until one is not beaten: a beaten round gives null. In
 * every round of competing writers one of them gets through, so the bound is met only in a crowd.
 * @throws unavailable beyond the bound
 */
export async function untilUnbeaten<T>(random: () => number, round: () => Promise<T | null>): Promise<T> {
  const startedAt = performance.now()
  for (let rounds = 0; rounds < MAX_ROUNDS && performance.now() - startedAt < LAST_ROUND_BEGINS_MS; rounds += 1) {
    if (rounds > 0) await sleep(random() * WAIT_MS)
    const result = await round()
    if (result !== null) return result
  }
  throw unavailable({ reason: 'crowded' })
}
