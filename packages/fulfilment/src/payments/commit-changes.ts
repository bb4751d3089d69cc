import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { MAJORITY } from '@oncehook/kernel/mongo/mongo-connection'
import type { Db, Document } from 'mongodb'
import { ORDERS, PAYMENT_INDEX } from '../orders/order-document.ts'
import type { UpdateStatement } from './order-update.ts'

/**
 * What became of one statement of the command: it holds on a majority; it may have held, the reply does not say which
 * did not match; its payment has paid another order; or nothing is known.
 */
export type Landing = 'landed' | 'perhaps' | 'payment_used' | 'unknown'

const DUPLICATE_KEY = 11_000

/**
 * Sends all statements as one unordered update command with majority and journal. The command is never sent again by
 * itself: where its outcome is unknown, the markers in the orders answer the retry.
 */
export async function commitChanges(
  { db, errors }: { readonly db: Db; readonly errors: DatabaseErrors },
  statements: readonly UpdateStatement[],
): Promise<Landing[]> {
  let reply: Document
  try {
    reply = await db.command({ update: ORDERS, updates: statements, ordered: false, writeConcern: MAJORITY })
  } catch (error) {
    errors.count(error)
    // Whatever the driver says, the statements may have been stored.
    return statements.map(() => 'unknown')
  }
  errors.countReply(reply)
  return landingsOf(reply, statements.length)
}

interface WriteError {
  readonly index: number
  readonly code: number
  readonly errmsg?: string
}

/** Reads the reply of the update command, a landing for each of its `count` statements. */
export function landingsOf(reply: Document, count: number): Landing[] {
  if (reply.writeConcernError !== undefined) return Array<Landing>(count).fill('unknown')
  const errors = (reply.writeErrors ?? []) as WriteError[]
  const rest: Landing = reply.n === count - errors.length ? 'landed' : 'perhaps'
  const landings = Array<Landing>(count).fill(rest)
  for (const error of errors) landings[error.index] = isPaymentUsed(error) ? 'payment_used' : 'unknown'
  return landings
}

function isPaymentUsed(error: WriteError): boolean {
  return error.code === DUPLICATE_KEY && (error.errmsg ?? '').includes(` index: ${PAYMENT_INDEX} `)
}
