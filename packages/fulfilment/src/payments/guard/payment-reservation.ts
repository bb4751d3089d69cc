import type { Db } from 'mongodb'
import { DURABLE_READ } from '../../durable-read.ts'
import type { PaymentKey } from '../../orders/stored/order-document.ts'

/** The collection of reservations. It can be sharded by `_id`. */
export const PAYMENTS = 'payments'

/**
 * What prevents a payment from paying two orders. `index`: the unique index of the orders. `reservation`: the payment is
 * reserved for an order before the order is paid.
 */
export type PaymentGuard = (typeof PAYMENT_GUARDS)[number]

/** The values of the setting `PAYMENT_GUARD`. */
export const PAYMENT_GUARDS = ['index', 'reservation'] as const

/**
 * A payment that can pay no order but this one. It is kept forever.
 *
 * Three rules hold together. (1) An update that pays an order by a payment is sent only after a majority has the
 * reservation for this order, and for the version that the update requires or a later one. (2) The version of an order
 * never goes back, and `paidBy` never loses a payment. (3) A reservation goes to another order only if a majority has its
 * order in a still later version, without the payment. An update under the former reservation, however late, then finds
 * no order of its version. So neither clocks nor time limits matter.
 */
export interface PaymentReservation {
  readonly _id: PaymentKey
  readonly orderId: string
  /** The last version of the order that the payment may pay. */
  readonly version: number
}

/** The id of a reservation. MongoDB compares its properties in this order. */
export function reservationId({ provider, id }: PaymentKey): PaymentKey {
  return { provider, id }
}

/** A text that identifies a payment. */
export function paymentText({ provider, id }: PaymentKey): string {
  return JSON.stringify([provider, id])
}

/** Reads reservations as a majority has them, by `paymentText`. */
export async function readReservations(
  db: Db,
  payments: readonly PaymentKey[],
): Promise<ReadonlyMap<string, PaymentReservation>> {
  const found = await db
    .collection<PaymentReservation>(PAYMENTS)
    .find({ _id: { $in: payments.map(reservationId) } }, { ...DURABLE_READ, batchSize: payments.length + 1 })
    .toArray()
  return new Map(found.map((one) => [paymentText(one._id), one]))
}
