import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document } from 'mongodb'
import { EVENTS, type EventDocument, PROCESSING_INDEX } from '../../event-document.ts'
import { splitRecords } from '../../slots/name-records.ts'
import { releaseFromHolder } from '../../transitions.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import { SEARCH_MS } from '../find-due.ts'
import { BY_ID } from '../take-claims.ts'

type Held = Pick<EventDocument, '_id' | 'slot' | 'fence'>

/**
 * Releases up to `limit` tasks of dead processes that no dispatcher would take over. They wait as pending, until their
 * handler is configured again or an operator discards them. `abandoned` matches them. Resolves to their number.
 */
export async function releaseUnclaimed(deps: ClaimsDeps, abandoned: Document, limit: number): Promise<number> {
  const found = await deps.db
    .collection<EventDocument>(EVENTS)
    .find(abandoned, { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS })
    .project<Held>({ slot: 1, fence: 1 })
    .limit(limit)
    .toArray()
  const updates = [...Map.groupBy(found, ({ fence }) => fence)].flatMap(([fence, records]) =>
    splitRecords(records, deps.isSharded).map((named) => {
      return { q: { ...named, ...abandoned, fence }, u: releaseFromHolder(), multi: true, hint: BY_ID }
    }),
  )
  return bulkUpdate(deps.db, { update: EVENTS, updates })
}
