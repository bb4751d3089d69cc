import { ensureIndexes, type NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { SettingsError } from '@oncehook/kernel/settings'
import type { Db } from 'mongodb'
import { DURABLE_READ } from '../../durable-read.ts'
import { ORDER_INDEXES, ORDERS, PAYMENT_INDEX } from '../../orders/stored/order-document.ts'
import { PAYMENTS, type PaymentGuard } from './payment-reservation.ts'
import {
  arePaymentsReserved,
  notePaymentsUnreserved,
  reserveStoredPayments,
  type StoredPaymentsDeps,
} from './stored-payments.ts'

/** Dependencies of the preparation. `others` are the collections besides orders and payments. */
export interface PrepareGuardDeps extends StoredPaymentsDeps {
  readonly guard: PaymentGuard
  readonly others: readonly NeededIndexes[]
}

/**
 * Ensures that the indexes exist that the guard needs. With `index`, the unique index of the payments. With
 * `reservation`, the same index until the payments of all stored orders are reserved, for instance by their first pass
 * if there are no orders yet.
 * @throws SettingsError with what to do, if a needed index cannot exist
 */
export async function preparePaymentGuard(deps: PrepareGuardDeps): Promise<void> {
  const { db, guard, others } = deps
  if (guard === 'index') {
    await explained(ensureIndexes(db, [ORDER_INDEXES, ...others]), ADD_RESERVATION)
    await notePaymentsUnreserved(db)
    return
  }
  const reserving = [...others, { collection: PAYMENTS, indexes: [] }]
  if (!(await arePaymentsReserved(db))) {
    await ensureIndexes(db, [{ collection: PAYMENTS, indexes: [] }])
    if (await isEmpty(db)) await reserveStoredPayments(deps, new AbortController().signal)
  }
  if (await arePaymentsReserved(db)) return await ensureIndexes(db, [WITHOUT_PAYMENTS, ...reserving])
  await explained(ensureIndexes(db, [ORDER_INDEXES, ...reserving]), UNSHARD_FIRST)
}

const WITHOUT_PAYMENTS: NeededIndexes = {
  collection: ORDERS,
  indexes: ORDER_INDEXES.indexes.filter(({ name }) => name !== PAYMENT_INDEX),
}

async function isEmpty(db: Db): Promise<boolean> {
  return (await db.collection(ORDERS).findOne({}, { ...DURABLE_READ, projection: { _id: 1 } })) === null
}

/** Adds a line to the problem that the index of the payments cannot exist in this collection. */
async function explained(ensured: Promise<void>, line: string): Promise<void> {
  try {
    await ensured
  } catch (error) {
    const refused = `Index ${PAYMENT_INDEX} of ${ORDERS} cannot be created (`
    if (!(error instanceof SettingsError) || !error.problems.some((one) => one.startsWith(refused))) throw error
    throw new SettingsError([...error.problems, line], { cause: error })
  }
}

const ADD_RESERVATION = `If ${ORDERS} is sharded, it cannot have this index. Add: PAYMENT_GUARD=reservation`
const UNSHARD_FIRST =
  `PAYMENT_GUARD=reservation needs this index until the payments of all stored orders are reserved. If ${ORDERS} is ` +
  'sharded, unshard it and start again; shard it when oncehook_payment_reservations_complete is 1'
