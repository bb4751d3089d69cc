import { BSON, type Document } from 'mongodb'
import { keyUnknown, recordAltered } from '../http/error-codes.ts'
import type { Encryption, WrappedKey } from '../secrets/encryption.ts'

export interface RotationCounts {
  readonly examined: number
  /** Records among them that were not encrypted with the first key. */
  readonly changed: number
  /** Records among them whose key is missing. They are left alone. */
  readonly unknown: number
  /** Of these, records of which a value is malformed: it stays as it is, and no key can read it. */
  readonly altered: number
}

export interface RotationPart extends RotationCounts {
  /** Id of the last record examined; null at the end of the collection. */
  readonly next: string | null
}

/**
 * The statements that one encrypted value of a record needs, if any. The values of a record do not wait for each other.
 * @throws keyUnknown, recordAltered
 */
export type ValueRotation = () => Promise<readonly Document[]> | readonly Document[]

/**
 * The part of an update that wraps the data key of an encrypted field by the first key: what it requires of the record, and what it
 * sets. Null: it is so already. The text stays as it is, so that no body travels.
 * @throws keyUnknown, recordAltered
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

export interface RotationSteps<Row> {
  /** The next records, ordered by id; at most `atOnce`. */
  readonly rows: readonly Row[]
  readonly atOnce: number
  readonly idOf: (row: Row) => string
  readonly rotate: (row: Row) => readonly ValueRotation[]
  readonly onAltered: (id: string) => void
  /** Sends statements; null: they are only counted. */
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
  const { rows, atOnce, idOf, rotate, onAltered, send } = steps
  const endsAt = performance.now() + PART_MS
  const counts = { examined: 0, changed: 0, unknown: 0, altered: 0 }
  const batch = createBatch(send)
  let last: string | null = null
  for (const row of rows) {
    if (last !== null && performance.now() > endsAt) break
    const { statements, isUnknown, isAltered } = await rotateValues(rotate(row))
    last = idOf(row)
    counts.examined += 1
    if (isUnknown) counts.unknown += 1
    if (isAltered) {
      counts.altered += 1
      onAltered(last)
    }
    if (statements.length === 0) continue
    counts.changed += 1
    await batch.add(statements)
  }
  await batch.flush()
  const isLast = counts.examined === rows.length && rows.length < atOnce
  return { ...counts, next: isLast ? null : last }
}

/** Collects statements and sends them before there are too many for one command. */
function createBatch(send: RotationSteps<never>['send']) {
  let waiting: Document[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    if (waiting.length > 0) await send?.(waiting)
    waiting = []
    bytes = 0
  }
  const add = async (statements: readonly Document[]): Promise<void> => {
    waiting.push(...statements)
    bytes += sizeOf(statements)
    if (waiting.length >= MOST_STATEMENTS || bytes >= MOST_BYTES) await flush()
  }
  return { add, flush }
}

export interface RotatedValues {
  readonly statements: readonly Document[]
  readonly isUnknown: boolean
  readonly isAltered: boolean
}

/** Collects the statements of a record's values. A value that cannot be rotated delays no other one. */
export async function rotateValues(values: readonly ValueRotation[]): Promise<RotatedValues> {
  const statements: Document[] = []
  let [isUnknown, isAltered] = [false, false]
  for (const rotate of values) {
    try {
      statements.push(...(await rotate()))
    } catch (error) {
      if (keyUnknown.is(error)) isUnknown = true
      else if (recordAltered.is(error)) isAltered = true
      else throw error
    }
  }
  return { statements, isUnknown, isAltered }
}

function sizeOf(statements: readonly Document[]): number {
  return statements.reduce((sum, statement) => sum + BSON.calculateObjectSize(statement), 0)
}
