import { durableRead } from '@oncehook/kernel/mongo/durable-read'
import type { WriteResult } from '@oncehook/kernel/mongo/write-outcome'
import type { Db } from 'mongodb'
import { EVENTS, type EventDocument } from './event-document.ts'

type Key = Pick<EventDocument, 'provider' | 'eventId'>

// Data that a majority holds is never rolled back, so a record found by such a read is durable.
const DURABLE_READ = durableRead(3_000)

/**
 * Reads which duplicates a majority holds. The others are `unknown`: an earlier record refused them, and it may still
 * be rolled back.
 */
export async function confirmDuplicates(
  db: Db,
  documents: readonly Key[],
  verdicts: readonly WriteResult[],
): Promise<WriteResult[]> {
  const refused = documents.filter((_, index) => verdicts[index] === 'duplicate')
  if (refused.length === 0) return [...verdicts]
  const $or = refused.map(({ provider, eventId }) => ({ provider, eventId }))
  const found = await db
    .collection(EVENTS)
    .find({ $or }, DURABLE_READ)
    .project<Key>({ _id: 0, provider: 1, eventId: 1 })
    .toArray()
  const durable = new Set(found.map(nameOf))
  return documents.map((document, index) => {
    const verdict = verdicts[index] ?? 'unknown'
    return verdict === 'duplicate' && !durable.has(nameOf(document)) ? 'unknown' : verdict
  })
}

function nameOf({ provider, eventId }: Key): string {
  return `${provider}\n${eventId}`
}
