import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { EVENTS, type EventDocument, PROCESSING_INDEX } from '../../event-document.ts'
import { releaseFromDead } from '../../transitions.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import { SEARCH_MS } from '../find-due.ts'
import { BY_ID, withIds } from '../take-claims.ts'
import { type Abandoned, failPoisonEvents, mayBePoison } from './fail-poison-events.ts'
import type { Owners } from './owners.ts'

type Held = Pick<EventDocument, '_id' | 'fence'>

/** How many tasks were released, and how many were marked as dead. */
interface Released {
  readonly released: number
  readonly poisoned: number
}

/**
 * Releases up to `limit` tasks of dead processes that no dispatcher would take over. They wait as pending, until their
 * handler is configured again or an operator discards them. Another gateway may have the handler, as during a change of the
 * setting. So these deaths count, and a task that seems to crash its holders is marked as dead.
 */
export async function releaseUnclaimed(deps: ClaimsDeps, owners: Owners, abandoned: Abandoned): Promise<Released> {
  const poisoned = await failPoisonEvents(deps, owners, abandoned)
  const releasable = { ...abandoned.filter, $nor: [mayBePoison(deps)] }
  const found = await deps.db
    .collection<EventDocument>(EVENTS)
    .find(releasable, { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS })
    .project<Held>({ fence: 1 })
    .limit(abandoned.limit)
    .toArray()
  const updates = [...Map.groupBy(found, ({ fence }) => fence)].map(([fence, records]) => {
    const q = { ...withIds(records), ...releasable, fence }
    return { q, u: releaseFromDead(deps.owner), multi: true, hint: BY_ID }
  })
  return { poisoned, released: await bulkUpdate(deps.db, { update: EVENTS, updates }) }
}
