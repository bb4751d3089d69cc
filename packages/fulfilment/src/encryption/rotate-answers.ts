import { type Encryption, type Place, wasSealed } from '@oncehook/kernel/encryption'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { type RotationPart, rewrapField, rotatePart } from '@oncehook/kernel/mongo/rotation'
import { type Document, ObjectId, type WithId } from 'mongodb'
import { answerPlace, fingerprintPlace, IDEMPOTENCY_KEYS, type IdempotencyRow } from '../idempotency-keys.ts'
import type { RotationRequest, RotationSource } from './rotate-orders.ts'

type Row = WithId<Pick<IdempotencyRow, 'principal' | 'key' | 'answer' | 'fingerprint'>>

const AT_ONCE = 200
const SEARCH_MS = 4_000

/** Encrypts the answers and fingerprints of a slice of the idempotency keys with the first key, in the same way as `rotateOrders`. */
export async function rotateAnswers(source: RotationSource, { after, dryRun }: RotationRequest): Promise<RotationPart> {
  const { db, encryption, logger } = source
  const rows = await db
    .collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
    .find(after === null ? {} : { _id: { $gt: new ObjectId(after) } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
    .project<Row>({ principal: 1, key: 1, answer: 1, fingerprint: 1 })
    .sort({ _id: 1 })
    .limit(AT_ONCE)
    .toArray()
  return rotatePart({
    rows,
    atOnce: AT_ONCE,
    idOf: ({ _id }) => _id.toHexString(),
    rotate: (row) => [
      () => rotateText(row, { field: 'answer', place: answerPlace(row), encryption }),
      () => rotateText(row, { field: 'fingerprint', place: fingerprintPlace(row), encryption }),
    ],
    onAltered: (id) => logger.error({ collection: IDEMPOTENCY_KEYS, id }, 'encryption.record-altered'),
    send: dryRun ? null : (updates) => bulkUpdate(db, { update: IDEMPOTENCY_KEYS, updates }),
  })
}

interface TextRotation {
  readonly field: 'answer' | 'fingerprint'
  readonly place: Place
  readonly encryption: Encryption
}

function rotateText(row: Row, { field, place, encryption }: TextRotation): readonly Document[] {
  const { _id, [field]: stored } = row
  if (wasSealed(stored)) {
    const change = rewrapField(field, stored, encryption)
    return change === null ? [] : [{ q: { _id, ...change.demands }, u: { $set: change.sets } }]
  }
  // There is none, or another program wrote it.
  if (typeof stored !== 'string' || encryption.firstKey === null) return []
  const sealed = encryption.seal(Buffer.from(stored), place)
  return [{ q: { _id, [field]: { $eq: stored } }, u: { $set: { [field]: sealed } } }]
}
