import { randomUUID } from 'node:crypto'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import type { Document } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { type NamedRecord, nameRecords, splitRecords } from '../slots/name-records.ts'
import { claimRecord } from '../transitions.ts'
import { type Claim, type FailingTimes, toClaim } from './claim.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { measureFailing } from './failing-time.ts'

/** The hint of statements that name their records. With a long backlog, the server might prefer to scan all of it. */
export const BY_ID = { _id: 1 }

/** How records are claimed. */
interface Taking {
  /** Two processes may pick the same ids. This part of the filter lets only one of them take each record. */
  readonly claimable: Document
}

/** Claims those of the records that are still claimable. Resolves to the claims, in the order of the records. */
export async function takeClaims(
  { db, isSharded, owner, leaseMs, maxDelayMs }: ClaimsDeps,
  records: readonly NamedRecord[],
  { claimable }: Taking,
): Promise<Claim[]> {
  if (records.length === 0) return []
  const claimId = randomUUID()
  const u = claimRecord({ owner, leaseMs, claimId })
  const updates = splitRecords(records, isSharded).map((named) => {
    return { q: { ...named, ...claimable }, u, multi: true, hint: BY_ID }
  })
  await bulkUpdate(db, { update: EVENTS, updates })
  const { failedForMs, orderUnknownForMs } = measureFailing(maxDelayMs)
  const taken = await db
    .collection<EventDocument>(EVENTS)
    .aggregate<EventDocument & FailingTimes>([
      { $match: { ...nameRecords(records, isSharded), claim: claimId } },
      { $set: { failedForMs, orderUnknownForMs } },
      { $project: { raw: 0, headers: 0, sealed: 0, attempts: 0 } },
    ])
    .toArray()
  const place = new Map(records.map(({ _id }, index) => [String(_id), index]))
  const placeOf = ({ _id }: Claim): number => place.get(String(_id)) ?? 0
  return taken.map(toClaim).sort((one, other) => placeOf(one) - placeOf(other))
}
