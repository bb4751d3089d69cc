import { randomUUID } from 'node:crypto'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { DUPLICATE_KEY } from '@oncehook/kernel/mongo/write-outcome'
import { type Document, MongoServerError } from 'mongodb'
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

/** A record, and perhaps the line in which it is. */
type TakenRecord = NamedRecord & { readonly line?: string }

/** Claims those of the records that are still claimable. Resolves to the claims, in the order of the records. */
export async function takeClaims(
  { db, isSharded, owner, leaseMs, maxDelayMs }: ClaimsDeps,
  records: readonly TakenRecord[],
  { claimable }: Taking,
): Promise<Claim[]> {
  if (records.length === 0) return []
  const claimId = randomUUID()
  const u = claimRecord({ owner, leaseMs, claimId })
  const { true: lined = [], false: others = [] } = Object.groupBy(records, ({ line }) => `${line !== undefined}`)
  // One statement each: the index may refuse one, because another task of the line is processed.
  const groups = [...(others.length === 0 ? [] : [others]), ...lined.map((record) => [record])]
  const updates = groups.flatMap((group) =>
    splitRecords(group, isSharded).map((named) => ({ q: { ...named, ...claimable }, u, multi: true, hint: BY_ID })),
  )
  const { refused } = await sendUpdates(db, { update: EVENTS, updates })
  const failed = refused.find(({ code }) => code !== DUPLICATE_KEY)
  if (failed !== undefined) throw new MongoServerError({ message: 'A claim was refused', code: failed.code })
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
