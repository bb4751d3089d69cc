import { randomUUID } from 'node:crypto'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { DUPLICATE_KEY } from '@oncehook/kernel/mongo/write-outcome'
import { type Document, type Filter, MongoServerError } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { claimRecord } from '../transitions.ts'
import { type Claim, type FailingTimes, toClaim } from './claim.ts'
import type { ClaimsDeps } from './claims-deps.ts'
import { measureFailing } from './failing-time.ts'

/** The hint of statements that name their records. With a long backlog, the server might prefer to scan all of it. */
export const BY_ID = { _id: 1 }

/** A record, as far as a statement names it. */
export type NamedRecord = Pick<EventDocument, '_id'>

/** The filter that names these records. */
export function withIds(records: readonly NamedRecord[]): Pick<Filter<EventDocument>, '_id'> {
  return { _id: { $in: records.map(({ _id }) => _id) } }
}

/** How records are claimed. */
interface Taking {
  /** Two processes may pick the same ids. This part of the filter lets only one of them take each record. */
  readonly claimable: Document
}

/** A record, and perhaps the line in which it is. */
type TakenRecord = NamedRecord & { readonly line?: string }

/** What became of records that were to be claimed. The others were not claimable any more. */
export interface Taken<Named> {
  /** In the order of the records. */
  readonly claims: Claim[]
  /** Those that the database refused, because another task of their line is processed. */
  readonly refused: readonly Named[]
}

/** Claims those of the records that are still claimable. */
export async function takeClaims<Named extends TakenRecord>(
  deps: ClaimsDeps,
  records: readonly Named[],
  taking: Taking,
): Promise<Taken<Named>> {
  if (records.length === 0) return { claims: [], refused: [] }
  const claimId = randomUUID()
  const refused = await writeClaims(deps, records, { ...taking, claimId })
  return { claims: await readClaims(deps, records, claimId), refused }
}

async function writeClaims<Named extends TakenRecord>(
  { db, owner, activeForMs = () => performance.now() }: ClaimsDeps,
  records: readonly Named[],
  { claimable, claimId }: Taking & { readonly claimId: string },
): Promise<readonly Named[]> {
  const u = claimRecord({ owner, claimId, activeForMs: activeForMs() })
  const { true: lined = [], false: others = [] } = Object.groupBy(records, ({ line }) => `${line !== undefined}`)
  // One statement each: the index may refuse one, because another task of the line is processed.
  const groups = [...(others.length === 0 ? [] : [others]), ...lined.map((record) => [record])]
  const updates = groups.map((group) => ({ q: { ...withIds(group), ...claimable }, u, multi: true, hint: BY_ID }))
  const { refused } = await sendUpdates(db, { update: EVENTS, updates })
  const failed = refused.find(({ code }) => code !== DUPLICATE_KEY)
  if (failed !== undefined) throw new MongoServerError({ message: 'A claim was refused', code: failed.code })
  return refused.flatMap(({ index }) => groups[index] ?? [])
}

async function readClaims(
  { db, maxDelayMs }: ClaimsDeps,
  records: readonly TakenRecord[],
  claimId: string,
): Promise<Claim[]> {
  const { failedForMs, orderUnknownForMs } = measureFailing(maxDelayMs)
  const taken = await db
    .collection<EventDocument>(EVENTS)
    .aggregate<EventDocument & FailingTimes>([
      { $match: { ...withIds(records), claim: claimId } },
      { $set: { failedForMs, orderUnknownForMs } },
      { $project: { raw: 0, headers: 0, sealed: 0, attempts: 0 } },
    ])
    .toArray()
  const place = new Map(records.map(({ _id }, index) => [String(_id), index]))
  const placeOf = ({ _id }: Claim): number => place.get(String(_id)) ?? 0
  return taken.map(toClaim).sort((one, other) => placeOf(one) - placeOf(other))
}
