import { isSealed } from '@oncehook/kernel/encryption'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { type RotationPart, rewrapField, rotatePart } from '@oncehook/kernel/mongo/rotation'
import { ObjectId, type WithId } from 'mongodb'
import { answerPlace, IDEMPOTENCY_KEYS, type IdempotencyRow } from '../idempotency-keys.ts'
import type { RotationRequest, RotationSource } from './rotate-orders.ts'

const AT_ONCE = 200
const SEARCH_MS = 4_000

/** Encrypts a slice of the stored idempotency answers with the first key, in the same way as `rotateOrders`. */
export async function rotateAnswers(source: RotationSource, { after, dryRun }: RotationRequest): Promise<RotationPart> {
  const { db, encryption } = source
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
    rotate(row) {
      const { _id, answer } = row
      if (isSealed(answer)) {
        const change = rewrapField('answer', answer, encryption)
        return change === null ? 'current' : [{ q: { _id, ...change.demands }, u: { $set: change.sets } }]
      }
      // None is there, or something else has written it.
      if (typeof answer !== 'string' || encryption.firstKey === null) return 'current'
      const sealed = encryption.seal(Buffer.from(answer), answerPlace(row))
      return [{ q: { _id, answer: { $eq: answer } }, u: { $set: { answer: sealed } } }]
    },
    send: dryRun ? null : (updates) => bulkUpdate(db, { update: IDEMPOTENCY_KEYS, updates }),
  })
}
