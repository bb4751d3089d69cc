import type { Collection, Db, ObjectId } from 'mongodb'
import type { KeyOutcome } from '../store.ts'

export interface KeyDocument {
  readonly _id: { readonly handler: string; readonly key: string }
  readonly outcome: KeyOutcome
  readonly bodyHash: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** A message of `tx.later`. */
export interface MessageDocument {
  readonly _id: ObjectId
  readonly handler: string
  readonly name: string
  readonly key: string
  /** JSON: a document would change some values, such as names with a dollar sign. */
  readonly payload: string
  readonly attempt: number
  readonly createdAt: Date
  readonly dueAt: Date
  readonly dead: boolean
  readonly reason?: string
}

export const COLLECTIONS = { keys: 'oncehook_keys', outbox: 'oncehook_outbox' } as const

// What a majority does not hold may be rolled back: it must neither be answered nor be relied on.
const DURABLE = {
  readConcern: { level: 'majority' },
  readPreference: 'primary',
  writeConcern: { w: 'majority', journal: true },
} as const

/** The keys, read and written with a majority. */
export function keysOf(db: Db): Collection<KeyDocument> {
  return db.collection<KeyDocument>(COLLECTIONS.keys, DURABLE)
}

/** The messages, read and written with a majority. */
export function messagesOf(db: Db): Collection<MessageDocument> {
  return db.collection<MessageDocument>(COLLECTIONS.outbox, DURABLE)
}
