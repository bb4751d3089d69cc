import { durableRead } from '@oncehook/kernel/mongo/durable-read'
import type { WriteResult } from '@oncehook/kernel/mongo/write-outcome'
import type { Db } from 'mongodb'
import { findByKeys, nameOfKey } from './slots/find-by-keys.ts'
import type { RecordKey } from './slots/slot.ts'

// Data that a majority holds is never rolled back, so a record found by such a read is durable.
const DURABLE_READ = durableRead(3_000)

/**
 * Reads which duplicates a majority holds. The others are `unknown`: an earlier record refused them, and it may still
 * be rolled back.
 */
export async function confirmDuplicates(
  db: Db,
  documents: readonly RecordKey[],
  verdicts: readonly WriteResult[],
): Promise<WriteResult[]> {
  const refused = documents.filter((_, index) => verdicts[index] === 'duplicate')
  if (refused.length === 0) return [...verdicts]
  const projection = { _id: 0, provider: 1, eventId: 1, handler: 1 }
  const found = await findByKeys({ db, isSharded: () => true }, refused, { ...DURABLE_READ, projection })
  const durable = new Set(found.map(nameOfKey))
  return documents.map((document, index) => {
    const verdict = verdicts[index] ?? 'unknown'
    return verdict === 'duplicate' && !durable.has(nameOfKey(document)) ? 'unknown' : verdict
  })
}
