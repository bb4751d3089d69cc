import type { Encryption } from '@oncehook/kernel/encryption'
import { recordAltered } from '@oncehook/kernel/error-codes'
import type { Logger } from '@oncehook/kernel/logger'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { type Db, ObjectId } from 'mongodb'
import { IDEMPOTENCY_KEYS, type IdempotencyRow, openAnswer } from '../idempotency-keys.ts'
import { walk } from '../orders/walk-orders.ts'
import { customerOf } from './keyed-answer.ts'

/** The walk that indexes idempotency answers of earlier releases by customer. */
export const KEYED_CUSTOMERS_WALK = 'idempotency_keys.customerId'

/** The database that holds the answers, and their encryption. */
export interface KeyedAnswers {
  readonly db: Db
  readonly encryption: Encryption
  readonly logger: Logger
}

type Nameless = Pick<IdempotencyRow, 'principal' | 'key' | 'orderId' | 'answer'> & { readonly _id: ObjectId }

/**
 * Adds `customerId` to idempotency keys answered by an earlier release, which stored the customer in the answer only.
 * Until the walk is done, `erase --customer` misses answers whose order now belongs to another customer. Altered
 * answers are skipped and logged.
 * @throws keyUnknown if the key of an answer is missing
 */
export function nameKeyedCustomers({ db, ...source }: KeyedAnswers, stopping: AbortSignal): Promise<void> {
  const change = async (ids: readonly unknown[]): Promise<void> => {
    const nameless = { answer: { $exists: true }, customerId: { $exists: false } }
    const rows = await db
      .collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
      .find({ _id: { $in: ids.filter((id) => id instanceof ObjectId) }, ...nameless })
      .project<Nameless>({ principal: 1, key: 1, orderId: 1, answer: 1 })
      .toArray()
    const updates = rows.flatMap((row) => {
      const answer = readAnswer(source, row)
      const q = { _id: row._id, customerId: { $exists: false } }
      return answer === null ? [] : [{ q, u: { $set: { customerId: customerOf(answer) } } }]
    })
    if (updates.length > 0) await bulkUpdate(db, { update: IDEMPOTENCY_KEYS, updates })
  }
  const first = new ObjectId('0'.repeat(24))
  return walk(db, { name: KEYED_CUSTOMERS_WALK, collection: IDEMPOTENCY_KEYS, first, change }, stopping)
}

/** Null where it was altered. */
function readAnswer({ encryption, logger }: Omit<KeyedAnswers, 'db'>, row: Nameless): string | null {
  try {
    return openAnswer(row, encryption).answer ?? '{}'
  } catch (error) {
    if (!recordAltered.is(error)) throw error
    logger.error({ collection: IDEMPOTENCY_KEYS, orderId: row.orderId }, 'encryption.record-altered')
    return null
  }
}
