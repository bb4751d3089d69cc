import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { MAJORITY } from '@oncehook/kernel/mongo/majority'
import { type WriteResult, writeResultsOf } from '@oncehook/kernel/mongo/write-outcome'
import type { Db } from 'mongodb'
import { EVENTS, KEY_INDEX, type TaskDocument } from '../task.ts'

/**
 * Inserts tasks with one command, which a majority acknowledges. A duplicate is only what the unique index of keys refuses: any other
 * refusal is `unknown`. A task whose result is unknown may be stored, and even claimed. Then it is due when its claim ends.
 */
export async function insertTasks(
  db: Db,
  errors: Pick<DatabaseErrors, 'count' | 'countReply'>,
  documents: readonly TaskDocument[],
): Promise<WriteResult[]> {
  try {
    // The raw command costs the driver half of what insertMany does, and its reply distinguishes write-concern errors.
    const reply = await db.command({ insert: EVENTS, documents, ordered: false, writeConcern: MAJORITY })
    errors.countReply(reply)
    return writeResultsOf(reply, documents.length, KEY_INDEX.key)
  } catch (error) {
    errors.count(error)
    throw error
  }
}

export const MOST_KNOWN_KEYS = 50_000

/**
 * Remembers keys that a majority has acknowledged to this process, so that a storm of duplicates needs no database. It
 * is limited to two generations of `capacity` keys. The older one is dropped when the younger one is full. `quick-lru` uses
 * the same algorithm, but also keeps a value for each key.
 */
export class KnownKeys {
  readonly #capacity: number
  #young = new Set<string>()
  #old = new Set<string>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  has(key: string): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  /** Only for keys whose record a majority holds: inserted, or refused as a duplicate. */
  add(key: string): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young
      this.#young = new Set()
    }
    this.#young.add(key)
  }
}
