import { BSON, type Document } from 'mongodb'
import type { Encryption, WrappedKey } from '../encryption.ts'
import { keyUnknown } from '../error-codes.ts'

/** What a part of a rotation did, or would do. */
export interface RotationCounts {
  /** Records that were looked at. */
  readonly examined: number
  /** Of these, records that were not encrypted by the first key. */
  readonly changed: number
  /** Of these, records whose key is not there: they stay as they are. */
  readonly unknown: number
}

/** A part of a rotation, and where the next one begins. */
export interface RotationPart extends RotationCounts {
  /** The id up to which records were looked at; null: there are no more. */
  readonly next: string | null
}

/** What a record needs: nothing, statements that change it, or a key that is not there. */
export type Rotated = 'current' | 'unknown' | readonly Document[]

/**
 * The part of an update that wraps the data key of an encrypted field by the first key: what it demands of the record, and what it
 * sets. Null: it is so already. The text stays as it is, so that no body travels.
 * @throws keyUnknown
 */
export function rewrapField(
  field: string,
  sealed: WrappedKey,
  encryption: Encryption,
): { readonly demands: Document; readonly sets: Document } | null {
  const rewrapped = encryption.rewrap(sealed)
  if (rewrapped === null) return null
  const members = ({ key, wrapped }: WrappedKey): Document => ({ [`${field}.key`]: key, [`${field}.wrapped`]: wrapped })
  return { demands: members(sealed), sets: members(rewrapped) }
}

/** How a part of a rotation is made. */
export interface RotationSteps<Row> {
  /** The next records in the order of their ids, `atOnce` at most. */
  readonly rows: readonly Row[]
  readonly atOnce: number
  readonly idOf: (row: Row) => string
  /** What a record needs; it may throw keyUnknown. */
  readonly rotate: (row: Row) => Promise<Rotated> | Rotated
  /** Sends statements; null: they are only counted. */
  readonly send: ((statements: readonly Document[]) => Promise<unknown>) | null
}

const PART_MS = 3_000
const MOST_STATEMENTS = 100
const MOST_BYTES = 4 * 1024 * 1024

/**
 * Goes through records, for about three seconds at most. Each statement holds only while the record is as it was read, so that a
 * part that was cut off, or is made twice, does no harm.
 */
export async function rotatePart<Row>(steps: RotationSteps<Row>): Promise<RotationPart> {
  const { rows, atOnce, idOf, rotate, send } = steps
  const endsAt = performance.now() + PART_MS
  const counts = { examined: 0, changed: 0, unknown: 0 }
  let waiting: Document[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (waiting.length > 0) await send?.(waiting)
    waiting = []
    bytes = 0
  }
  let last: string | null = null
  for (const row of rows) {
    if (last !== null && performance.now() > endsAt) break
    const rotated = await attempt(() => rotate(row))
    last = idOf(row)
    counts.examined += 1
    if (rotated === 'unknown') counts.unknown += 1
    if (rotated === 'current' || rotated === 'unknown') continue
    counts.changed += 1
    waiting.push(...rotated)
    bytes += sizeOf(rotated)
    if (waiting.length >= MOST_STATEMENTS || bytes >= MOST_BYTES) await flush()
  }
  await flush()
  const isLast = counts.examined === rows.length && rows.length < atOnce
  return { ...counts, next: isLast ? null : last }
}

async function attempt(rotate: () => Promise<Rotated> | Rotated): Promise<Rotated> {
  try {
    return await rotate()
  } catch (error) {
    if (keyUnknown.is(error)) return 'unknown'
    throw error
  }
}

function sizeOf(statements: readonly Document[]): number {
  return statements.reduce((sum, statement) => sum + BSON.calculateObjectSize(statement), 0)
}
