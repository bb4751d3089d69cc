import { type Db, type Document, MongoServerError } from 'mongodb'
import { MAJORITY } from './majority.ts'

/** A collection and the statements of one update command, in the server's syntax (`q`, `u`, …). */
export interface BulkUpdate {
  readonly update: string
  readonly updates: readonly object[]
  /** Maximum milliseconds for the command, and for its majority. Default: 4 s for the majority. */
  readonly withinMs?: number
}

/** A statement that the server refused: its index in the command, and the error. */
export interface RefusedStatement {
  readonly index: number
  readonly code: number
  /** The server's message. It may contain stored values, so do not log it. */
  readonly errmsg?: string
}

export interface UpdateReply {
  readonly n: number
  readonly refused: readonly RefusedStatement[]
}

/**
 * Sends statements as one unordered command with majority write concern and journal. Resolves to the number of
 * matched or inserted documents when all statements are stored. Sends nothing if there are no statements.
 * @throws MongoServerError if the server refused a statement; the others are stored
 * @throws MongoError if it is unknown whether a majority has them
 */
export async function bulkUpdate(db: Db, command: BulkUpdate): Promise<number> {
  if (command.updates.length === 0) return 0
  const { n, refused } = await sendUpdates(db, command)
  const [first] = refused
  if (first !== undefined) {
    throw new MongoServerError({ message: 'A statement of an update was refused', code: first.code })
  }
  return n
}

/**
 * Like `bulkUpdate`, for callers that check each statement: refused statements are part of the reply.
 * @throws MongoError if it is unknown whether a majority has the others
 */
export async function sendUpdates(db: Db, { update, updates, withinMs }: BulkUpdate): Promise<UpdateReply> {
  const limits =
    withinMs === undefined
      ? { writeConcern: MAJORITY }
      : { writeConcern: { ...MAJORITY, wtimeout: withinMs }, maxTimeMS: withinMs }
  // The driver throws if a majority is missing, but not if a statement is refused: `ok` is 1 in that case.
  const reply: Document = await db.command({ update, updates, ordered: false, ...limits })
  return { n: Number(reply.n), refused: (reply.writeErrors ?? []) as RefusedStatement[] }
}
