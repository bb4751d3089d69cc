import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { EVENTS } from '../event-document.ts'
import { postpone } from '../transitions.ts'
import { type ClaimsDeps, ofHandler } from './claims-deps.ts'
import { type DueRecord, findDue, type SearchDeps } from './find-due.ts'
import { BY_ID, withIds } from './take-claims.ts'

const AT_ONCE = 500

/**
 * Gives due records of paused providers the due time of their provider's pause. Then no later search reads them, however
 * many they are. Searches for more than a caller may claim, because only probes are claimed during an outage. `seen`: what
 * the caller has found. It may be far from the beginning, where this search looks.
 */
export async function postponePaused(deps: ClaimsDeps & SearchDeps, seen: readonly DueRecord[]): Promise<void> {
  const found = await findDue(deps, { limit: AT_ONCE, timed: AT_ONCE >> 1, part: null })
  const byProvider = Map.groupBy([...seen, ...found], ({ provider }) => provider)
  const paused = deps.paused()
  const updates = [...byProvider].flatMap(([provider, records]) => {
    const dueAt = paused.get(provider)
    if (dueAt === undefined) return []
    const q = { ...withIds(records), state: 'pending', ...ofHandler(deps) }
    return [{ q, u: postpone(dueAt), multi: true, hint: BY_ID }]
  })
  await bulkUpdate(deps.db, { update: EVENTS, updates })
}
