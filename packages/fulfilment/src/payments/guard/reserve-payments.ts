import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { type WriteResult, writeResultsOf } from '@oncehook/kernel/mongo/write-outcome'
import type { Db } from 'mongodb'
import { DURABLE_READ } from '../../durable-read.ts'
import { ORDERS, type OrderDocument, type PaymentKey } from '../../orders/stored/order-document.ts'
import { hasPaid } from '../transitions.ts'
import {
  PAYMENTS,
  type PaymentReservation,
  paymentText,
  readReservations,
  reservationId,
} from './payment-reservation.ts'

/** A payment that is about to pay this version of an order. */
export interface WantedPayment {
  readonly payment: PaymentKey
  readonly orderId: string
  readonly version: number
}

/**
 * `reserved`: a majority has the reservation for this version of the order. `used`: the payment has paid another order.
 * `open`: it may still pay another order, or the order has changed; decide again. `unknown`: no information.
 */
export type ReserveResult = 'reserved' | 'used' | 'open' | 'unknown'

interface Database {
  readonly db: Db
  readonly errors: DatabaseErrors
}

/**
 * Reserves payments for orders by one insert command with majority write concern and journal. Further commands are sent
 * only for payments that are reserved already. Results are in input order.
 */
export async function reservePayments(database: Database, wanted: readonly WantedPayment[]): Promise<ReserveResult[]> {
  if (wanted.length === 0) return []
  try {
    const inserted = await insertReservations(database, wanted)
    const taken = wanted.filter((_, index) => inserted[index] === 'duplicate')
    const resolved = taken.length === 0 ? null : await resolveTaken(database.db, taken)
    return wanted.map((one, index) => {
      const result = inserted[index]
      return result === 'stored' ? 'reserved' : (resolved?.get(one) ?? 'unknown')
    })
  } catch (error) {
    database.errors.count(error)
    // A reservation that was stored nevertheless is found by the next attempt.
    return wanted.map(() => 'unknown')
  }
}

/** Inserts reservations with majority write concern. `duplicate`: there is one, which a majority may not have yet. */
export async function insertReservations(
  { db, errors }: Database,
  wanted: readonly WantedPayment[],
): Promise<WriteResult[]> {
  const documents = wanted.map(({ payment, orderId, version }) => ({ _id: reservationId(payment), orderId, version }))
  const reply = await db.command({ insert: PAYMENTS, documents, ordered: false, writeConcern: MAJORITY })
  errors.countReply(reply)
  return writeResultsOf(reply, wanted.length)
}

/** Resolves payments that are reserved already. */
async function resolveTaken(
  db: Db,
  taken: readonly WantedPayment[],
): Promise<ReadonlyMap<WantedPayment, ReserveResult>> {
  const stored = await readReservations(
    db,
    taken.map(({ payment }) => payment),
  )
  const others = await readOthers(db, taken, stored)
  const results = new Map<WantedPayment, ReserveResult>()
  const moves: Move[] = []
  for (const one of taken) {
    const found = stored.get(paymentText(one.payment))
    const next = found === undefined ? 'unknown' : decide(one, found, others)
    if (next === 'move' && found !== undefined) moves.push({ one, found })
    else if (next !== 'move') results.set(one, next)
  }
  if (moves.length > 0) await move(db, moves, results)
  return results
}

function decide(
  one: WantedPayment,
  found: PaymentReservation,
  others: ReadonlyMap<string, PaidOrder>,
): ReserveResult | 'move' {
  // A later version, if the order was restored from a backup, or has changed since it was read.
  if (found.orderId === one.orderId) return found.version >= one.version ? 'reserved' : 'move'
  const other = others.get(found.orderId)
  // Something other than Oncehook has removed it: an order that is deleted through the API leaves a tombstone.
  if (other === undefined) return 'move'
  if (!isReadable(other)) return 'unknown'
  if (hasPaid(other, one.payment)) return 'used'
  return other.version > found.version ? 'move' : 'open'
}

/** The part of an order that shows which payments have paid it. */
export interface PaidOrder extends Pick<OrderDocument, '_id' | 'version'> {
  readonly paidBy: readonly PaymentKey[]
}

function isReadable({ paidBy }: { readonly paidBy: unknown }): boolean {
  return Array.isArray(paidBy)
}

async function readOthers(
  db: Db,
  taken: readonly WantedPayment[],
  stored: ReadonlyMap<string, PaymentReservation>,
): Promise<ReadonlyMap<string, PaidOrder>> {
  const ids = taken.flatMap(({ payment, orderId }) => {
    const found = stored.get(paymentText(payment))
    return found === undefined || found.orderId === orderId ? [] : [found.orderId]
  })
  return ids.length === 0 ? new Map() : await readPaidOrders(db, ids)
}

/** Reads which payments have paid these orders, as a majority has it. */
export async function readPaidOrders(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, PaidOrder>> {
  const found = await db
    .collection<OrderDocument>(ORDERS)
    .find({ _id: { $in: [...ids] } }, { ...DURABLE_READ, batchSize: ids.length + 1 })
    .project<Pick<OrderDocument, '_id' | 'version' | 'paidBy'>>({ version: 1, paidBy: 1 })
    .toArray()
  return new Map(found.map(({ paidBy = [], ...order }) => [order._id, { ...order, paidBy }]))
}

interface Move {
  readonly one: WantedPayment
  readonly found: PaymentReservation
}

/** Moves reservations to another order or version, unless another call was faster. */
async function move(db: Db, moves: readonly Move[], results: Map<WantedPayment, ReserveResult>): Promise<void> {
  const updates = moves.map(({ one: { payment, orderId, version }, found }) => ({
    q: { _id: { $eq: reservationId(payment) }, orderId: { $eq: found.orderId }, version: { $eq: found.version } },
    u: { $set: { orderId, version } },
  }))
  await sendUpdates(db, { update: PAYMENTS, updates })
  const stored = await readReservations(
    db,
    moves.map(({ one }) => one.payment),
  )
  for (const { one } of moves) {
    const found = stored.get(paymentText(one.payment))
    const isOurs = found?.orderId === one.orderId && found.version >= one.version
    results.set(one, isOurs ? 'reserved' : 'open')
  }
}
