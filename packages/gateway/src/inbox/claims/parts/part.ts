import { hash } from 'node:crypto'
import type { Document } from 'mongodb'
import type { RecordKey } from '../../record-key.ts'

/** A part of all records: those whose slot has this remainder when divided by the number of parts. */
export interface Part {
  readonly parts: number
  readonly remainder: number
}

/**
 * The most parts. A search examines one key of the index for each part and each record that it returns, so more parts
 * would cost more than they save. More processes than this share parts.
 */
export const MOST_PARTS = 16

/**
 * The part of a process while these are alive, or null if it is the only one. The names in order give each process its
 * part. A change moves most parts, but nothing is moved with them: a part only says what a process searches first.
 */
export function partOf(owner: string, living: readonly string[]): Part | null {
  const names = [...new Set([...living, owner])].sort()
  const parts = Math.min(names.length, MOST_PARTS)
  return parts === 1 ? null : { parts, remainder: names.indexOf(owner) % parts }
}

/** Matches the records of a part. Records without a slot are in no part. */
export function inPart({ parts, remainder }: Part): Document {
  const filter = { slot: { $mod: [parts, remainder] } }
  return filter
}

/**
 * The slot of a record: 0 to 4095, the first 12 bits of the SHA-256 of its key without the handler. It never changes, and
 * keys of any form spread evenly.
 */
export function slotOf({ provider, eventId }: RecordKey): number {
  return Number.parseInt(hash('sha256', `${provider}\n${eventId}`, 'hex').slice(0, 3), 16)
}
