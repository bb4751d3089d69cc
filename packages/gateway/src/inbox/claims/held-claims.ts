import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { settle } from '../transitions.ts'
import type { Claim, SettledClaim } from './claim.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { BY_ID, withIds } from './take-claims.ts'

/**
 * Changes records that this process still holds. A record that was claimed again stays as it is.
 * @throws MongoError if a statement was refused
 */
export async function updateHeld(deps: ClaimsDeps, claims: readonly Claim[], stages: Document[]): Promise<void> {
  if (claims.length === 0) return
  const byFence = Map.groupBy(claims, ({ fence }) => fence)
  const updates = [...byFence].map(([fence, held]) => toStatement(deps, { claims: held, fence }, stages))
  await bulkUpdate(deps.db, { update: EVENTS, updates })
}

/**
 * Writes outcomes, those that are alike in one statement. Resolves to those whose claim was lost in the meantime.
 * @throws MongoError if a statement was refused. Its claims are not lost: claims are lost only if no statement matched
 */
export async function settleHeld(deps: ClaimsDeps, settled: readonly SettledClaim[]): Promise<readonly SettledClaim[]> {
  const groups = Map.groupBy(settled, ({ claim, settlement, attempt }) =>
    JSON.stringify([claim.fence, settlement, attempt]),
  )
  const updates = [...groups.values()].flatMap((group) => toSettlement(deps, group))
  const matched = await bulkUpdate(deps.db, { update: EVENTS, updates })
  return matched === settled.length ? [] : findLost(deps, settled)
}

function toSettlement(deps: ClaimsDeps, group: readonly SettledClaim[]): Document[] {
  const [first] = group
  if (first === undefined) return []
  const claims = group.map(({ claim }) => claim)
  return [toStatement(deps, { claims, fence: first.claim.fence }, settle(first.settlement, first.attempt, deps))]
}

/** Claims that have the same fence. */
interface Held {
  readonly claims: readonly Claim[]
  readonly fence: number
}

function toStatement({ owner }: ClaimsDeps, { claims, fence }: Held, u: Document[]): Document {
  return { q: { ...withIds(claims), state: 'processing', leaseOwner: owner, fence }, u, multi: true, hint: BY_ID }
}

/** Claims whose record is gone, has another fence, or is still being processed. */
async function findLost({ db }: ClaimsDeps, settled: readonly SettledClaim[]): Promise<SettledClaim[]> {
  const claims = settled.map(({ claim }) => claim)
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find(withIds(claims))
    .project<Pick<EventDocument, '_id' | 'fence' | 'state'>>({ fence: 1, state: 1 })
    .toArray()
  const records = new Map(found.map((record) => [String(record._id), record]))
  return settled.filter(({ claim }) => {
    const record = records.get(String(claim._id))
    return record?.fence !== claim.fence || record.state === 'processing'
  })
}
