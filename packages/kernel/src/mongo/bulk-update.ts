import { type Db, type Document, MongoServerError } from 'mongodb'
import { MAJORITY } from './majority.ts'

/** A collection and the statements of one update command for it, each as the server takes them (`q`, `u`, …). */
export interface BulkUpdate {
  readonly update: string
  readonly updates: readonly object[]
  /** Milliseconds that the command may take, and the wait for its majority. Default: 4 s for the majority. */
  readonly withinMs?: number
}

/** A statement that changed nothing because the server refused it: its place in the command, and why. */
export interface RefusedStatement {
  readonly index: number
  readonly code: number
  /** The server's own words. They may contain stored values: not for a log. */
  readonly errmsg?: string
}

/** The reply of an update command that a majority holds. */
export interface UpdateReply {
  /** Documents that matched or were inserted, over all statements. */
  readonly n: number
  readonly refused: readonly RefusedStatement[]
}

/**
 * Sends statements as one unordered command with majority and journal, and resolves when every one of them is stored.
 * Resolves to the number of documents that matched or were inserted. No statements: no command.
 * @throws MongoServerError when the server refused a statement; the others are stored
 * @throws MongoError when it is not known that a majority holds them
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
 * As `bulkUpdate`, for callers that judge each statement: refused ones are part of the reply.
 * @throws MongoError when it is not known that a majority holds the others
 */
export async function sendUpdates(db: Db, { update, updates, withinMs }: BulkUpdate): Promise<UpdateReply> {
  const limits =
    withinMs === undefined
      ? { writeConcern: MAJORITY }
      : { writeConcern: { ...MAJORITY, wtimeout: withinMs }, maxTimeMS: withinMs }
  // The driver throws for a missing majority, but not for a statement that was refused: `ok` is 1 then.
  const reply: Document = await db.command({ update, updates, ordered: false, ...limits })
  return { n: Number(reply.n), refused: (reply.writeErrors ?? []) as RefusedStatement[] }
}
