import type { Encryption } from '@oncehook/kernel/encryption'
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
}

type Nameless = Pick<IdempotencyRow, 'principal' | 'key' | 'answer'> & { readonly _id: ObjectId }

/**
 * Adds `customerId` to idempotency keys answered by an earlier release, which stored the customer in the answer only.
 * Until the walk is done, `erase --customer` misses answers whose order now belongs to another customer.
 * @throws keyUnknown if an answer cannot be decrypted
 */
export function nameKeyedCustomers({ db, encryption }: KeyedAnswers, stopping: AbortSignal): Promise<void> {
  const change = async (ids: readonly unknown[]): Promise<void> => {
    const nameless = { answer: { $exists: true }, customerId: { $exists: false } }
    const rows = await db
      .collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
      .find({ _id: { $in: ids.filter((id) => id instanceof ObjectId) }, ...nameless })
      .project<Nameless>({ principal: 1, key: 1, answer: 1 })
      .toArray()
    const updates = rows.map((row) => ({
      q: { _id: row._id, customerId: { $exists: false } },
      u: { $set: { customerId: customerOf(openAnswer(row, encryption).answer ?? '{}') } },
    }))
    if (updates.length > 0) await bulkUpdate(db, { update: IDEMPOTENCY_KEYS, updates })
  }
  const first = new ObjectId('0'.repeat(24))
  return walk(db, { name: KEYED_CUSTOMERS_WALK, collection: IDEMPOTENCY_KEYS, first, change }, stopping)
}
