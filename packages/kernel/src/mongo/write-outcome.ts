import { isDeepStrictEqual } from 'node:util'
import { type Document, MongoError, MongoServerError, MongoWriteConcernError } from 'mongodb'
import { unavailable } from '../http/error-codes.ts'
import type { AppError } from '../http/errors.ts'

/** The outcome of a write: durable on a majority, refused because an earlier durable write has its key, or unknown. */
export type WriteResult = 'stored' | 'duplicate' | 'unknown'

/** The server's code for a write that a unique index refused. */
export const DUPLICATE_KEY = 11_000

// The key after the index name contains values from the sender. Only the part before it is the server's own text.
const VIOLATED = /^(?:[\w ]+ :: caused by :: )*E11000 duplicate key error collection: \S+ index: (\S+) /

/** The name of the violated unique index, from the server's message. Null for any other message. */
export function violatedIndex(message: string): string | null {
  return VIOLATED.exec(message)?.[1] ?? null
}

interface WriteError {
  readonly index: number
  readonly code: number
  readonly keyPattern?: Document
}

/**
 * Converts the reply of an unordered write command with `count` statements to one outcome per statement. A
 * write-concern error applies to the whole command, so it is checked before duplicate keys: a duplicate of a write
 * that may be rolled back is not a duplicate. `key`: the key of the unique index that refuses duplicates. A refusal by another
 * one is unknown. Default: any index.
 */
export function writeResultsOf(reply: Document, count: number, key?: Document): WriteResult[] {
  if (reply.writeConcernError !== undefined) return Array<WriteResult>(count).fill('unknown')
  const verdicts = Array<WriteResult>(count).fill('stored')
  for (const { index, code, keyPattern } of (reply.writeErrors ?? []) as WriteError[]) {
    const isOfKey = key === undefined || isDeepStrictEqual(keyPattern, key)
    verdicts[index] = code === DUPLICATE_KEY && isOfKey ? 'duplicate' : 'unknown'
  }
  return verdicts
}

/** Whether a single write was refused by a unique index. `index` restricts this to one index. */
export function isDuplicateKey(error: unknown, index?: string): error is MongoServerError {
  if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) return false
  if (error instanceof MongoWriteConcernError || error.errorResponse?.writeConcernError !== undefined) return false
  return index === undefined || violatedIndex(error.message) === index
}

/**
 * The catalogue error for a driver error: `unavailable`, because the outcome is unknown and a retry is safe. Null for
 * other errors.
 */
export function toUnavailable(error: unknown): AppError | null {
  return error instanceof MongoError ? unavailable({ reason: errorClass(error) }, { cause: error }) : null
}

/** A short name of a driver error, suitable as a metric label. */
export function errorClass(error: unknown): string {
  if (error instanceof MongoServerError) return `server_${error.code ?? 'unknown'}`
  return error instanceof Error ? error.name : 'unknown'
}
