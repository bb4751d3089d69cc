import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document } from 'mongodb'
import { EVENTS, type EventDocument, PROCESSING_INDEX } from '../event-document.ts'
import { failPoisoned } from '../transitions.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { type Candidate, checkCandidate } from './count-deaths.ts'
import { SEARCH_MS } from './find-due.ts'
import { leaseHasEnded } from './lease.ts'
import type { Owners } from './owners.ts'
import { BY_ID } from './take-claims.ts'

// A process tries one suspect at a time, so each process that died leaves at most one.
const MOST_CHECKED = 100

/** Matches records that may have crashed `maxStarts` processes. They are not claimed until that is decided. */
export function mayBePoison({ maxCrashes }: ClaimsDeps): Document {
  return { begun: true, lost: { $gte: maxCrashes - 1 } }
}

/**
 * Marks a record as dead if its holders died `maxStarts` times in a row without a result, because it may be the cause.
 * If some of the holders are alive, fewer deaths count. Only a process that has reached the database for a whole lease
 * decides this. Resolves to the number of records marked.
 */
export async function failPoisonEvents(deps: ClaimsDeps, owners: Owners): Promise<number> {
  const q = { state: 'processing' as const, ...mayBePoison(deps), $expr: leaseHasEnded(deps.leaseMs) }
  const events = deps.db.collection<EventDocument>(EVENTS)
  const fields = { fence: 1, lost: 1, losses: 1, leaseOwner: 1 } as const
  const candidates = await events
    .find(q, { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS })
    .project<Candidate>(fields)
    .sort({ state: 1, _id: 1 })
    .limit(MOST_CHECKED)
    .toArray()
  if (candidates.length === 0 || !owners.isSteady) return 0
  const living = await owners.findLiving(candidates.map(({ leaseOwner = '' }) => leaseOwner))
  const beats = await owners.readBeats(candidates.flatMap(({ losses = [] }) => losses.map(({ owner }) => owner)))
  let failed = 0
  for (const candidate of candidates) {
    const check = checkCandidate(candidate, { owner: deps.owner, living, beats }, deps.maxCrashes)
    if (check === 'held') continue
    const { _id, fence, leaseOwner } = candidate
    const u =
      check === 'dead' ? failPoisoned(deps) : [{ $set: { lost: check.deaths } }, { $unset: ['losses', 'begun'] }]
    const updates = [{ q: { ...q, _id, fence, leaseOwner }, u, hint: BY_ID }]
    const changed = await bulkUpdate(deps.db, { update: EVENTS, updates })
    if (check === 'dead') failed += changed
  }
  return failed
}
