import { type RefusedStatement, sendUpdates, type UpdateReply } from '@oncehook/kernel/mongo/bulk-update'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { DUPLICATE_KEY, violatedIndex } from '@oncehook/kernel/mongo/write-outcome'
import type { Db } from 'mongodb'
import { type LiveOrder, ORDERS, PAYMENT_INDEX } from '../orders/stored/order-document.ts'
import type { OrderChange } from './decide-order.ts'
import type { UpdateStatement } from './order-update.ts'
import type { PaymentState } from './transitions.ts'

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
 * effect twice: if its result is unknown, the markers in the orders answer the retry. `sent`: what is sent, if some of
 * them are merged.
 */
export async function commitChanges(
  { db, errors }: { readonly db: Db; readonly errors: DatabaseErrors },
  statements: readonly UpdateStatement[],
  sent: readonly SentUpdate[] = statements.map((statement, place) => ({ statement, places: [place] })),
): Promise<CommitResult[]> {
  let reply: UpdateReply
  try {
    reply = await sendUpdates(db, { update: ORDERS, updates: sent.map(({ statement }) => statement) })
  } catch (error) {
    errors.count(error)
    // The statements may have been stored, whatever error the driver reports.
    return statements.map(() => 'unknown')
  }
  errors.countReply({ writeErrors: reply.refused })
  return toCommitResults(
    reply,
    sent.map(({ places }) => places),
  )
}

/** Converts the reply of the update command to the result of each place. `places`: those of each statement of the command. */
export function toCommitResults({ n, refused }: UpdateReply, places: readonly (readonly number[])[]): CommitResult[] {
  const errors = new Map(refused.map((error) => [error.index, error]))
  const count = places.reduce((sum, { length }, index) => (errors.has(index) ? sum : sum + length), 0)
  const rest: CommitResult = n === count ? 'committed' : 'unconfirmed'
  const results: CommitResult[] = []
  for (const [index, own] of places.entries()) {
    const error = errors.get(index)
    const result = error === undefined ? rest : toRefusedResult(error, own.length)
    for (const place of own) results[place] = result
  }
  return results
}

/** An error of a merged statement is about one of its changes. Any number of the others may be stored. */
function toRefusedResult(error: RefusedStatement, merged: number): CommitResult {
  return merged > 1 ? 'unconfirmed' : toCommitResult(error)
}

function toCommitResult(error: RefusedStatement): CommitResult {
  if (isPaymentUsed(error)) return 'payment_used'
  return UNCHANGEABLE.has(error.code) ? 'unchangeable' : 'unknown'
}

function isPaymentUsed(error: RefusedStatement): boolean {
  return error.code === DUPLICATE_KEY && violatedIndex(error.errmsg ?? '') === PAYMENT_INDEX
}

export interface PlannedUpdate {
  readonly change: OrderChange
  readonly statement: UpdateStatement
}

/** A statement to send, and the places of the planned updates that it makes. */
export interface SentUpdate {
  readonly statement: object
  readonly places: readonly number[]
}

// For fewer, one statement costs the server as much as one each.
const LEAST_MERGED = 4

/**
 * Merges the first payments of orders of the same version into one statement: most of what an update costs the server
 * is per statement. Each order is changed on the same conditions as by its own statement, and to the same. If the
 * server refuses a merged statement, it has made any number of the changes.
 */
export function mergeFirstPayments(planned: readonly PlannedUpdate[]): SentUpdate[] {
  const all = planned.map((one, place) => ({ ...one, place, after: afterFirstPayment(one) }))
  const groups = Map.groupBy(all, ({ statement, after, place }) => (after === null ? place : conditionsOf(statement)))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined || group.length < LEAST_MERGED) {
      return group.map(({ statement, place }) => ({ statement, places: [place] }))
    }
    const statement = mergedStatement(
      first.statement,
      group.flatMap(({ after }) => after ?? []),
    )
    return [{ statement, places: group.map(({ place }) => place) }]
  })
}

type AfterPayment = Pick<LiveOrder, '_id' | 'version' | 'applied' | 'receipts' | 'paidBy'> &
  Omit<PaymentState, 'paidBy'>

/** Null for any other change: only lists that were empty before are known completely after it. */
function afterFirstPayment({ change, statement }: PlannedUpdate): AfterPayment | null {
  const { order, markers: applied, state, versionsUp } = change
  const { paidBy, receipts } = statement.u.$push
  if (state === null || paidBy === undefined || receipts === undefined) return null
  if (order.applied.length > 0 || order.paidBy !== undefined) return null
  const { status, access, payment } = state
  const version = order.version + versionsUp
  return { _id: order._id, version, status, access, payment, applied, receipts: [receipts], paidBy: [paidBy] }
}

function conditionsOf({ q: { _id, ...conditions } }: UpdateStatement): string {
  return JSON.stringify(conditions)
}

function mergedStatement({ q: { _id, ...conditions }, hint }: UpdateStatement, after: readonly AfterPayment[]): object {
  const ids = after.map(({ _id }) => _id)
  // With its id, so that the server would refuse the members of another order.
  const own = { $arrayElemAt: [{ $literal: after }, { $indexOfArray: [{ $literal: ids }, '$_id'] }] }
  const empty = { receipts: { $size: 0 }, paidBy: { $exists: false } }
  const u = [{ $replaceWith: { $mergeObjects: ['$$ROOT', own, { updatedAt: '$$NOW' }] } }]
  return { q: { _id: { $in: ids }, ...conditions, ...empty }, u, multi: true, hint }
}
