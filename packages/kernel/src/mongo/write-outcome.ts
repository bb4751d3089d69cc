import { type Document, MongoError, MongoServerError, MongoWriteConcernError } from 'mongodb'
import { unavailable } from '../error-codes.ts'
import type { AppError } from '../errors.ts'

/** What became of one write: durable on a majority, refused because an earlier durable one has its key, or unknown. */
export type WriteVerdict = 'stored' | 'duplicate' | 'unknown'

const DUPLICATE_KEY = 11_000

// Behind the name of the index stands the key, whose values are the sender's: only the server's own words come before it.
const VIOLATED = /^(?:[\w ]+ :: caused by :: )*E11000 duplicate key error collection: \S+ index: (\S+) /

/** The name of the unique index that a write has violated, by the server's message; null for any other message. */
export function violatedIndex(message: string): string | null {
  return VIOLATED.exec(message)?.[1] ?? null
}

/**
 * Reads the reply of an unordered write command of `count` statements, a verdict for each. A write-concern error speaks
 * for the whole command, so it is looked at before any single duplicate key: a duplicate of something that may yet be
 * rolled back is no duplicate.
 */
export function verdictsOf(reply: Document, count: number): WriteVerdict[] {
  if (reply.writeConcernError !== undefined) return Array<WriteVerdict>(count).fill('unknown')
  const verdicts = Array<WriteVerdict>(count).fill('stored')
  for (const error of (reply.writeErrors ?? []) as { index: number; code: number }[]) {
    verdicts[error.index] = error.code === DUPLICATE_KEY ? 'duplicate' : 'unknown'
  }
  return verdicts
}

/**
 * Whether the reply of an unordered write command may leave out that no majority confirmed it: a mongos drops its
 * write-concern error when every statement was refused. A duplicate in such a reply is to be confirmed by a majority read.
 */
export function hidesWriteConcern(reply: Document, count: number): boolean {
  return (reply.writeErrors ?? []).length === count
}

/** Whether a single write was refused cleanly by a unique index; `index` narrows it to one by name. */
export function isDuplicateKey(error: unknown, index?: string): error is MongoServerError {
  if (!(error instanceof MongoServerError) || error.code !== DUPLICATE_KEY) return false
  if (error instanceof MongoWriteConcernError || error.errorResponse?.writeConcernError !== undefined) return false
  return index === undefined || violatedIndex(error.message) === index
}

/** The catalogue error for a driver's error: `unavailable`, for the outcome is unknown and a retry is safe. Else null. */
export function toUnavailable(error: unknown): AppError | null {
  return error instanceof MongoError ? unavailable({ reason: errorClass(error) }, { cause: error }) : null
}

/** A short name of a driver's error, fit for a metric label. */
export function errorClass(error: unknown): string {
  if (error instanceof MongoServerError) return `server_${error.code ?? 'unknown'}`
  return error instanceof Error ? error.name : 'unknown'
}
