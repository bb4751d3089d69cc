import type { Logger } from '@oncehook/kernel/logger'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { isDuplicateKey } from '@oncehook/kernel/mongo/write-outcome'
import type { Collection, Db } from 'mongodb'
import { DURABLE_READ } from '../../durable-read.ts'
import { ORDERS, type OrderDocument } from '../../orders/stored/order-document.ts'
import { hasPaid } from '../transitions.ts'
import {
  PAYMENTS,
  type PaymentReservation,
  paymentText,
  readReservations,
  reservationId,
} from './payment-reservation.ts'
import { insertReservations, readPaidOrders, type WantedPayment } from './reserve-payments.ts'

/**
 * The document `payments.reserved` of the collection `housekeeping`: whether every payment in `paidBy` of a stored order
 * has its reservation. Only then can the orders do without their unique index.
 *
 * The index may be dropped if `cleanFrom` is later than the end of the last process that paid orders without
 * reservations: one of release 0.1.0, or with `PAYMENT_GUARD=index`. To ask for a new pass, set `startedAt` to
 * `new Date(0)`: a process with `PAYMENT_GUARD=reservation` begins it within about a minute, and `cleanFrom` then says
 * when. A document that is missing, or has `cleanFrom: null`, means that the index is needed.
 */
export interface ReservedProgress {
  readonly _id: typeof RESERVED
  /** Identifies the pass that runs, or the last one. */
  readonly pass: string
  /** When this pass began, by the database's clock. */
  readonly startedAt: Date
  /** Orders up to this id are done. */
  readonly after: string
  /** How many payments without a right reservation this pass has found. */
  readonly found: number
  /** When this pass ended. Null while it runs. */
  readonly doneAt: Date | null
  /** When the last pass that reached its end began. Null if there was none, or it found something to reserve. */
  readonly cleanFrom: Date | null
}

/** The id of the document. */
export const RESERVED = 'payments.reserved'

/** Dependencies of a pass. */
export interface StoredPaymentsDeps {
  readonly db: Db
  readonly errors: DatabaseErrors
  readonly logger: Logger
  /** Creates a unique id for each pass. */
  readonly newPassId: () => string
}

const AT_ONCE = 500
const SEARCH_MS = 4_000
const WEEK_MS = 7 * 86_400_000
// The first one reserves, the second one finds nothing more, unless something still pays without reservations.
const PASSES_AT_ONCE = 2

/** Whether the payments of all stored orders are reserved. */
export async function arePaymentsReserved(db: Db): Promise<boolean> {
  const progress = await progressOf(db).findOne({ _id: RESERVED }, DURABLE_READ)
  return progress?.cleanFrom instanceof Date
}

/** Notes that this process pays orders without reservations, which another pass must make up for. */
export async function notePaymentsUnreserved(db: Db): Promise<void> {
  await progressOf(db).deleteOne({ _id: RESERVED }, { writeConcern: MAJORITY })
}

/**
 * Reserves the payments of stored orders, in slices ordered by id. Each slice is noted, so that the next process resumes
 * there. Ends when a whole pass finds nothing to reserve; otherwise the next call continues. A week later it begins
 * again.
 */
export async function reserveStoredPayments(deps: StoredPaymentsDeps, stopping: AbortSignal): Promise<void> {
  for (let passes = 0; passes < PASSES_AT_ONCE && !stopping.aborted; passes += 1) {
    const progress = await beginPass(deps)
    if (progress === null || !(await runPass(deps, progress, stopping))) return
  }
}

function progressOf(db: Db): Collection<ReservedProgress> {
  return db.collection<ReservedProgress>('housekeeping')
}

/** The pass to run. Null if none is needed, or another process has begun one. */
async function beginPass({ db, newPassId }: StoredPaymentsDeps): Promise<ReservedProgress | null> {
  const last = await progressOf(db).findOne({ _id: RESERVED }, DURABLE_READ)
  if (last !== null && last.doneAt === null) return last
  if (last !== null && isClean(last) && Math.abs(Date.now() - last.startedAt.getTime()) < WEEK_MS) return null
  const pass = newPassId()
  try {
    await progressOf(db).updateOne(
      { _id: RESERVED, pass: last?.pass ?? pass },
      {
        $set: { pass, after: '', found: 0, doneAt: null, cleanFrom: last?.cleanFrom ?? null },
        $currentDate: { startedAt: true },
      },
      { upsert: last === null, writeConcern: MAJORITY },
    )
  } catch (error) {
    if (!isDuplicateKey(error)) throw error
  }
  const begun = await progressOf(db).findOne({ _id: RESERVED }, DURABLE_READ)
  return begun?.pass === pass ? begun : null
}

function isClean({ startedAt, cleanFrom }: ReservedProgress): boolean {
  return cleanFrom?.getTime() === startedAt.getTime()
}

/** Runs a pass to its end. False if it was stopped, or another process has taken it over. */
async function runPass(deps: StoredPaymentsDeps, begun: ReservedProgress, stopping: AbortSignal): Promise<boolean> {
  let progress = begun
  while (!stopping.aborted) {
    const slice = await readSlice(deps.db, progress.after)
    const found = progress.found + (await reserveSlice(deps, slice))
    const next = { ...progress, after: slice.at(-1)?._id ?? progress.after, found }
    const isDone = slice.length < AT_ONCE
    if (!(await note(deps.db, { from: progress, to: next, isDone }))) return false
    if (isDone) {
      deps.logger.info({ found, complete: found === 0 }, 'payment.reservations-checked')
      return true
    }
    progress = next
  }
  return false
}

interface Step {
  readonly from: ReservedProgress
  readonly to: ReservedProgress
  readonly isDone: boolean
}

/** False if the document was removed meanwhile, or another process was faster. */
async function note(db: Db, { from, to, isDone }: Step): Promise<boolean> {
  const { after, found, startedAt } = to
  const ended = isDone ? { cleanFrom: found === 0 ? startedAt : null } : {}
  const { matchedCount } = await progressOf(db).updateOne(
    { _id: RESERVED, pass: from.pass, after: from.after, doneAt: null },
    { $set: { after, found, ...ended }, ...(isDone ? { $currentDate: { doneAt: true } } : {}) },
    { writeConcern: MAJORITY },
  )
  return matchedCount === 1
}

type SliceOrder = Pick<OrderDocument, '_id' | 'version' | 'paidBy'>

function readSlice(db: Db, after: string): Promise<SliceOrder[]> {
  return db
    .collection<OrderDocument>(ORDERS)
    .find({ _id: { $gt: after } }, { ...DURABLE_READ, hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
    .project<SliceOrder>({ version: 1, paidBy: 1 })
    .sort({ _id: 1 })
    .limit(AT_ONCE)
    .toArray()
}

/** Resolves to the number of payments that had no reservation, or that of another order. */
async function reserveSlice(deps: StoredPaymentsDeps, slice: readonly SliceOrder[]): Promise<number> {
  const paid = slice.flatMap(paymentsOf)
  const stored =
    paid.length === 0
      ? new Map()
      : await readReservations(
          deps.db,
          paid.map(({ payment }) => payment),
        )
  const missing: WantedPayment[] = []
  let corrected = 0
  for (const one of paid) {
    const reservation = stored.get(paymentText(one.payment))
    if (reservation === undefined) missing.push(one)
    else if (reservation.orderId !== one.orderId && (await correct(deps, one, reservation))) corrected += 1
  }
  // Whatever was not stored is found by the next pass.
  for (let from = 0; from < missing.length; from += AT_ONCE) {
    await insertReservations(deps, missing.slice(from, from + AT_ONCE))
  }
  return missing.length + corrected
}

function paymentsOf({ _id: orderId, version, paidBy }: SliceOrder): WantedPayment[] {
  // Something other than Oncehook may have written it.
  const entries: readonly Partial<Record<'provider' | 'id', unknown> | null>[] = Array.isArray(paidBy) ? paidBy : []
  return entries.flatMap((entry) => {
    const { provider, id } = entry ?? {}
    const isKey = typeof provider === 'string' && typeof id === 'string'
    return isKey ? [{ payment: { provider, id }, orderId, version }] : []
  })
}

/**
 * Moves a reservation to the order that the payment has paid, which was done by a process without reservations. First the
 * other order gets a new version, so that an update under the former reservation, however late, does not match. False if
 * the payment has paid both: nothing can correct that.
 */
async function correct(
  { db, logger }: StoredPaymentsDeps,
  { payment, orderId, version }: WantedPayment,
  found: PaymentReservation,
): Promise<boolean> {
  const text = { provider: payment.provider, orderId: orderId.slice(0, 64), otherOrderId: found.orderId.slice(0, 64) }
  const fence = {
    q: { _id: { $eq: found.orderId }, version: { $lte: found.version } },
    u: { $set: { version: found.version + 1 } },
  }
  await bulkUpdate(db, { update: ORDERS, updates: [fence] })
  const other = (await readPaidOrders(db, [found.orderId])).get(found.orderId)
  if (other !== undefined && hasPaid(other, payment)) {
    logger.error(text, 'payment.paid-two-orders')
    return false
  }
  const q = { _id: { $eq: reservationId(payment) }, orderId: { $eq: found.orderId }, version: { $eq: found.version } }
  await bulkUpdate(db, { update: PAYMENTS, updates: [{ q, u: { $set: { orderId, version } } }] })
  logger.warn(text, 'payment.reservation-corrected')
  return true
}
