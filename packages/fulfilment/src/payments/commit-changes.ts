import { type RefusedStatement, sendUpdates, type UpdateReply } from '@oncehook/kernel/mongo/bulk-update'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { DUPLICATE_KEY, violatedIndex } from '@oncehook/kernel/mongo/write-outcome'
import type { Db } from 'mongodb'
import { ORDERS, PAYMENT_INDEX } from '../orders/stored/order-document.ts'
import type { SentUpdate } from './merge-first-payments.ts'
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
