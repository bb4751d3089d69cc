import { type RefusedStatement, sendUpdates, type UpdateReply } from '@oncehook/kernel/mongo/bulk-update'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { DUPLICATE_KEY, violatedIndex } from '@oncehook/kernel/mongo/write-outcome'
import type { Db } from 'mongodb'
import { DURABLE_READ } from '../durable-read.ts'
import { ORDERS, type OrderDocument, PAYMENT_INDEX } from '../orders/stored/order-document.ts'
import type { UpdateStatement } from './order-update.ts'

/**
 * Result of one statement of the command. `committed`: a majority has it. `unconfirmed`: the reply does not show which
 * statement did not match. `payment_used`: the payment has paid another order. `unchangeable`: the stored order
 * cannot be changed. `unknown`: no information.
 */
export type CommitResult = 'committed' | 'unconfirmed' | 'payment_used' | 'unchangeable' | 'unknown'

// Server codes for a document that rejects the change: BadValue, TypeMismatch, PathNotViable,
// DocumentValidationFailure, BSONObjectTooLarge and its two older codes.
const UNCHANGEABLE = new Set([2, 14, 28, 121, 10_334, 17_419, 17_420])

/**
 * Sends all statements as one unordered update command with majority write concern and journal. No statement takes
 * effect twice: if its result is unknown, the markers in the orders answer the retry.
 */
export async function commitChanges(
  { db, errors }: { readonly db: Db; readonly errors: DatabaseErrors },
  statements: readonly UpdateStatement[],
): Promise<CommitResult[]> {
  let reply: UpdateReply
  try {
    reply = await sendUpdates(db, { update: ORDERS, updates: statements })
  } catch (error) {
    errors.count(error)
    // The statements may have been stored, whatever error the driver reports.
    return statements.map(() => 'unknown')
  }
  errors.countReply({ writeErrors: reply.refused })
  const results = toCommitResults(reply, statements.length)
  return results.includes('payment_used') ? confirmPaymentsUsed(db, statements, results) : results
}

/**
 * Checks that a majority has the other payment, because mongos may hide that it was not confirmed. Without a majority
 * it may still be rolled back, so the result is unknown.
 */
async function confirmPaymentsUsed(
  db: Db,
  statements: readonly UpdateStatement[],
  results: readonly CommitResult[],
): Promise<CommitResult[]> {
  const orders = db.collection<OrderDocument>(ORDERS)
  const confirm = async (result: CommitResult, index: number): Promise<CommitResult> => {
    const payment = statements[index]?.u.$push.paidBy
    if (result !== 'payment_used' || payment === undefined) return result
    const paid = { $exists: true, $elemMatch: { provider: { $eq: payment.provider }, id: { $eq: payment.id } } }
    const found = await orders.findOne({ paidBy: paid }, { ...DURABLE_READ, projection: { _id: 1 } }).catch(() => null)
    return found === null ? 'unknown' : result
  }
  return Promise.all(results.map(confirm))
}

/** Converts the reply of the update command to one result for each of its `count` statements. */
export function toCommitResults({ n, refused }: UpdateReply, count: number): CommitResult[] {
  const rest: CommitResult = n === count - refused.length ? 'committed' : 'unconfirmed'
  const results = Array<CommitResult>(count).fill(rest)
  for (const error of refused) results[error.index] = toCommitResult(error)
  return results
}

function toCommitResult(error: RefusedStatement): CommitResult {
  if (isPaymentUsed(error)) return 'payment_used'
  return UNCHANGEABLE.has(error.code) ? 'unchangeable' : 'unknown'
}

function isPaymentUsed(error: RefusedStatement): boolean {
  return error.code === DUPLICATE_KEY && violatedIndex(error.errmsg ?? '') === PAYMENT_INDEX
}
