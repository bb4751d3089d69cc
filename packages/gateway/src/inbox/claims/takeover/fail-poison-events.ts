import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document } from 'mongodb'
import { EVENTS, type EventDocument, PROCESSING_INDEX } from '../../event-document.ts'
import { failPoisoned } from '../../transitions.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import { SEARCH_MS } from '../find-due.ts'
import { BY_ID } from '../take-claims.ts'
import { type Candidate, checkCandidate, lossesOf } from './count-deaths.ts'
import type { Owners } from './owners.ts'

// A process tries one suspect at a time, so each process that died leaves at most one.
const MOST_CHECKED = 100

/** Matches records that may have crashed `maxCrashes` processes. They are not claimed until that is decided. */
export function mayBePoison({ maxCrashes }: ClaimsDeps): Document {
  return { begun: true, lost: { $gte: maxCrashes - 1 } }
}

/** The oldest records of dead holders. */
export interface Abandoned {
  /** Matches all of them. */
  readonly filter: Document
  readonly limit: number
}

/**
 * Marks a record as dead if its holders died `maxCrashes` times in a row without a result, because it may be the cause.
 * Examines only the oldest records of dead holders: the others become the oldest as these are claimed. If some of the
 * earlier holders are alive after all, fewer deaths count. Only a process that has reached the database for a whole
 * lease decides this. Resolves to the number of records marked.
 */
export async function failPoisonEvents(deps: ClaimsDeps, owners: Owners, abandoned: Abandoned): Promise<number> {
  const q = { ...abandoned.filter, ...mayBePoison(deps) }
  const candidates = await findCandidates(deps, abandoned)
  if (candidates.length === 0 || !owners.isSteady) return 0
  const beats = await owners.readBeats(candidates.flatMap((one) => lossesOf(one).map(({ owner }) => owner)))
  let failed = 0
  for (const candidate of candidates) {
    const check = checkCandidate(candidate, beats, deps.maxCrashes)
    const { _id, fence, leaseOwner } = candidate
    const u =
      check === 'dead' ? failPoisoned(deps) : [{ $set: { lost: check.deaths } }, { $unset: ['losses', 'begun'] }]
    const updates = [{ q: { ...q, _id, fence, leaseOwner }, u, multi: true, hint: BY_ID }]
    const changed = await bulkUpdate(deps.db, { update: EVENTS, updates })
    if (check === 'dead') failed += changed
  }
  return failed
}

function findCandidates(deps: ClaimsDeps, { filter, limit }: Abandoned): Promise<Candidate[]> {
  const pipeline = [
    { $match: filter },
    { $sort: { _id: 1 } },
    { $limit: Math.max(limit, MOST_CHECKED) },
    { $match: mayBePoison(deps) },
    { $limit: MOST_CHECKED },
    { $project: { fence: 1, lost: 1, losses: 1, leaseOwner: 1 } },
  ]
  const options = { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS }
  return deps.db.collection<EventDocument>(EVENTS).aggregate<Candidate>(pipeline, options).toArray()
}
