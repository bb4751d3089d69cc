import { BSON, type Document } from 'mongodb'
import type { Encryption, WrappedKey } from '../encryption.ts'
import { keyUnknown } from '../error-codes.ts'

/** The result of a rotation slice or of its dry run. */
export interface RotationCounts {
  /** Records examined. */
  readonly examined: number
  /** Records among them that were not encrypted with the first key. */
  readonly changed: number
  /** Records among them whose key is missing. They are left alone. */
  readonly unknown: number
}

/** A rotation slice, and where the next one begins. */
export interface RotationPart extends RotationCounts {
  /** Id of the last record examined; null at the end of the collection. */
  readonly next: string | null
}

/** The change a record needs: none, update statements, or a missing key. */
export type Rotated = 'current' | 'unknown' | readonly Document[]

/**
 * The update that rewraps the data key of an encrypted field with the first key: its conditions and its new values.
 * Null if it is already current. The ciphertext does not change, so no body is transferred.
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

/** Steps of a rotation slice. */
export interface RotationSteps<Row> {
  /** The next records, ordered by id; at most `atOnce`. */
  readonly rows: readonly Row[]
  readonly atOnce: number
  readonly idOf: (row: Row) => string
  /** Returns the change a record needs; may throw keyUnknown. */
  readonly rotate: (row: Row) => Promise<Rotated> | Rotated
  /** Sends statements; null for a dry run. */
  readonly send: ((statements: readonly Document[]) => Promise<unknown>) | null
}

const PART_MS = 3_000
const MOST_STATEMENTS = 100
const MOST_BYTES = 4 * 1024 * 1024

/**
 * Processes records for about three seconds at most. Each statement applies only to the record as it was read, so an
 * interrupted or repeated slice does no harm.
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
