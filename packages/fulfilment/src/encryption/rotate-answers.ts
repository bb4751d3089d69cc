import { wasSealed } from '@oncehook/kernel/encryption'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { type RotationPart, rewrapField, rotatePart } from '@oncehook/kernel/mongo/rotation'
import { ObjectId, type WithId } from 'mongodb'
import { answerPlace, IDEMPOTENCY_KEYS, type IdempotencyRow } from '../idempotency-keys.ts'
import type { RotationRequest, RotationSource } from './rotate-orders.ts'

const AT_ONCE = 200
const SEARCH_MS = 4_000

/** Encrypts a slice of the stored idempotency answers with the first key, in the same way as `rotateOrders`. */
export async function rotateAnswers(source: RotationSource, { after, dryRun }: RotationRequest): Promise<RotationPart> {
  const { db, encryption, logger } = source
  const rows = await db
    .collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
    .find(after === null ? {} : { _id: { $gt: new ObjectId(after) } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
    .project<WithId<Pick<IdempotencyRow, 'principal' | 'key' | 'answer'>>>({ principal: 1, key: 1, answer: 1 })
    .sort({ _id: 1 })
    .limit(AT_ONCE)
    .toArray()
  return rotatePart({
    rows,
    atOnce: AT_ONCE,
    idOf: ({ _id }) => _id.toHexString(),
    rotate: (row) => [
      () => {
        const { _id, answer } = row
        if (wasSealed(answer)) {
          const change = rewrapField('answer', answer, encryption)
          return change === null ? [] : [{ q: { _id, ...change.demands }, u: { $set: change.sets } }]
        }
        // There is no answer, or another program wrote it.
        if (typeof answer !== 'string' || encryption.firstKey === null) return []
        const sealed = encryption.seal(Buffer.from(answer), answerPlace(row))
        return [{ q: { _id, answer: { $eq: answer } }, u: { $set: { answer: sealed } } }]
      },
    ],
    onAltered: (id) => logger.error({ collection: IDEMPOTENCY_KEYS, id }, 'encryption.record-altered'),
    send: dryRun ? null : (updates) => bulkUpdate(db, { update: IDEMPOTENCY_KEYS, updates }),
  })
}
