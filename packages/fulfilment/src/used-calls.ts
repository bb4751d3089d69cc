// Whoever reads the traffic can send a call again while its token lives. A change that depends on nothing would then overwrite what came
// since. So the id of such a call is stored before it does anything.
import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { isDuplicateKey, toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Db } from 'mongodb'

const USED_CALLS = 'used_calls'

// Longer than any token lives, and than clocks may differ.
const KEPT_SECONDS = 600

export const USED_CALL_INDEXES: NeededIndexes = {
  collection: USED_CALLS,
  indexes: [{ name: 'expired', key: { usedAt: 1 }, expireAfterSeconds: KEPT_SECONDS }],
}

/**
 * Marks the call with this id as used. When it resolves, a majority knows.
 * @throws unauthenticated if it was used before, unavailable
 */
export type UseCall = (callId: string) => Promise<void>

export function createUsedCalls(db: Db, clock: Clock): UseCall {
  const calls = db.collection<{ _id: string; usedAt: Date }>(USED_CALLS)
  return async (callId) => {
    try {
      await calls.insertOne({ _id: callId, usedAt: new Date(clock.now()) })
    } catch (error) {
      if (isDuplicateKey(error)) throw unauthenticated({ reason: 'call_repeated' })
      throw toUnavailable(error) ?? error
    }
  }
}
