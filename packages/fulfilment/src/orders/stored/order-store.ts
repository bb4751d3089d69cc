import { setTimeout as sleep } from 'node:timers/promises'
import { unavailable } from '@oncehook/kernel/http/error-codes'
import { durableRead } from '@oncehook/kernel/mongo/majority'
import { isDuplicateKey, toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import type { Collection, Document, UpdateFilter } from 'mongodb'
import { isLive, type LiveOrder, type OrderDocument, type UnstoredOrder } from './order-document.ts'
import { sealMembers } from './order-encryption.ts'

/** Options of every read that affects an answer: 4 s leave a request time for its write. */
export const DURABLE_READ = durableRead(4_000)

export type Orders = Collection<OrderDocument>

export interface OrderCollection {
  readonly orders: Orders
  readonly encryption: Encryption
}

/** Reads one order with majority read concern. Returns tombstones too, and null if the id was never used. */
export function readOrder(orders: Orders, id: string): Promise<OrderDocument | null> {
  return reachable(() => orders.findOne({ _id: { $eq: id } }, DURABLE_READ))
}

/** Whether an id is in use by an order or tombstone, according to a majority. */
export async function isStored(orders: Orders, id: string): Promise<boolean> {
  const options = { ...DURABLE_READ, projection: { _id: 1 } }
  return (await reachable(() => orders.findOne({ _id: { $eq: id } }, options))) !== null
}

export const HIDDEN = { applied: 0, receipts: 0, paidBy: 0, formerCustomers: 0 } as const

/** The times of a new order, by the database clock, because process clocks differ. */
export const MADE_NOW = { createdAt: '$$NOW', updatedAt: '$$NOW' } as const

/**
 * Inserts an order with majority write concern and encrypts its personal data if encryption is on. Resolves to the
 * stored order, or to null if a majority confirms that the id is taken.
 */
export async function insertOrder(
  { orders, encryption }: OrderCollection,
  order: UnstoredOrder,
): Promise<LiveOrder | null> {
  // The filter matches no stored order, so a taken id is a duplicate key, as with an insert. Only an update supports
  // `$$NOW`.
  const filter = { _id: { $eq: order._id }, version: { $exists: false } }
  const pipeline = [
    { $replaceWith: { $mergeObjects: [MADE_NOW, { $literal: sealMembers(order._id, order, encryption) }] } },
  ]
  try {
    const made = await orders.findOneAndUpdate(filter, pipeline, { upsert: true, returnDocument: 'after' })
    if (!isLive(made)) throw new Error('The upsert returned no order')
    return made
  } catch (error) {
    // The order with this id may still be rolled back, if no majority has it.
    if (isDuplicateKey(error) && (await isStored(orders, order._id))) return null
    throw toUnavailable(error) ?? error
  }
}

/**
 * Changes an order with majority write concern if it still has the version that was read. Resolves to the stored
 * order without internal fields, or to null if a concurrent change won.
 */
export function updateOrder(
  orders: Orders,
  read: Pick<OrderDocument, '_id' | 'version'>,
  update: UpdateFilter<OrderDocument> | Document[],
): Promise<OrderDocument | null> {
  const filter = { _id: { $eq: read._id }, version: read.version }
  return reachable(() => orders.findOneAndUpdate(filter, update, { returnDocument: 'after', projection: HIDDEN }))
}

/**
 * Waits for a call of the database.
 * @throws unavailable for an error of the driver: the outcome is unknown
 */
export async function reachable<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}

const MAX_ROUNDS = 64
const LAST_ROUND_BEGINS_MS = 6_000
const WAIT_MS = 20

/**
 * Repeats a "read, decide, conditional write" round until it succeeds. A round returns null on a conflict. One of the
 * competing writers succeeds in every round, so only heavy contention exhausts the limit.
 * @throws unavailable beyond the limit
 */
export async function retryOnConflict<T>(random: () => number, round: () => Promise<T | null>): Promise<T> {
  const startedAt = performance.now()
  for (let rounds = 0; rounds < MAX_ROUNDS && performance.now() - startedAt < LAST_ROUND_BEGINS_MS; rounds += 1) {
    if (rounds > 0) await sleep(random() * WAIT_MS)
    const result = await round()
    if (result !== null) return result
  }
  throw unavailable({ reason: 'crowded' })
}
