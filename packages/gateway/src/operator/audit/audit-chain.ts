import { hash } from 'node:crypto'
import type { ObjectId } from 'mongodb'
import type { AuditEntry } from './audit.ts'

/** The position of an entry in the chain: its number, counted from 1, and its hash. */
export interface ChainLink {
  readonly seq: number
  /** SHA-256 in hexadecimal, over everything that is stored of the entry and the hash of the one before. */
  readonly hash: string
}

/** An entry that is part of the chain. */
export interface ChainedEntry extends AuditEntry, ChainLink {
  readonly _id: ObjectId
  /** The hash of the entry before; null for the first one. */
  readonly previous: string | null
}

type Unlinked = AuditEntry & { readonly _id: ObjectId }

/** Appends an entry to the chain that ends with `last`. `last` is null if there is no entry yet. */
export function linkEntry(entry: Unlinked, last: ChainLink | null): ChainedEntry {
  const linked = { ...entry, seq: (last?.seq ?? 0) + 1, previous: last?.hash ?? null }
  return { ...linked, hash: hashOf(linked) }
}

const NAMES = ['_id', 'action', 'at', 'by', 'details', 'hash', 'previous', 'reason', 'seq'].join()

/** Whether a stored entry is unchanged and continues the chain that ends with `last`. */
export function continuesChain(stored: ChainedEntry, last: ChainLink | null): boolean {
  try {
    const { seq, previous, hash: _, ...entry } = stored
    const expected = linkEntry(entry, last)
    return (
      expected.seq === seq &&
      expected.previous === previous &&
      expected.hash === stored.hash &&
      Object.keys(stored).toSorted().join() === NAMES
    )
  } catch {
    // A stored value has another type.
    return false
  }
}

function hashOf({ seq, previous, _id, at, by, action, reason, details }: Omit<ChainedEntry, 'hash'>): string {
  return hash('sha256', JSON.stringify([seq, previous, String(_id), at.toISOString(), by, action, reason, details]))
}
