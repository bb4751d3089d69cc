import { latestFromNow } from '@oncehook/kernel/mongo/lease'
import type { Document, ObjectId } from 'mongodb'
import { DUE_INDEX, EVENTS } from '../event-document.ts'
import type { ClaimsDeps } from './claims-deps.ts'

/** How long a search for claimable records may take, in milliseconds. */
export const SEARCH_MS = 4_000
const EPOCH = new Date(0)

type SearchDeps = Pick<ClaimsDeps, 'db' | 'maxDelayMs'>

/** How many due records to find, and how many places are for records whose time has come, if new ones fill the rest. */
interface Wanted {
  readonly limit: number
  readonly timed: number
}

/**
 * Matches due records. An absent due time sorts before every date and means due now. A due time later than any that is
 * ever set comes from a clock that was ahead. It counts as past.
 */
export function isDue({ maxDelayMs }: Pick<ClaimsDeps, 'maxDelayMs'>): Document {
  const latest = latestFromNow(maxDelayMs)
  const $or = [{ $expr: { $lte: ['$dueAt', '$$NOW'] } }, { $expr: { $gt: ['$dueAt', latest] } }]
  const filter = { state: 'pending', $or }
  return filter
}

/**
 * Finds due records. The longest due come first. Records without a due time, which are new, come before all others in
 * the index. If they fill the limit, `timed` places are for records whose time has come. Otherwise a backlog would
 * prevent all retries. The expression narrows the range of the index, so that a long list of records due later costs
 * nothing.
 */
export async function findDue(deps: SearchDeps, { limit, timed }: Wanted): Promise<ObjectId[]> {
  const first = await findIds(deps, isDue(deps), limit)
  if (first.length < limit || timed === 0) return first
  const { state, $or } = isDue(deps)
  const overtaken = await findIds(deps, { state, dueAt: { $gte: EPOCH }, $or }, timed)
  const places = new Set(overtaken.map(String))
  const others = first.filter((id) => !places.has(String(id)))
  return [...others.slice(0, limit - overtaken.length), ...overtaken]
}

async function findIds({ db }: SearchDeps, filter: Document, limit: number): Promise<ObjectId[]> {
  // While the index is being built, the server refuses the search instead of reading every record.
  const options = { hint: DUE_INDEX, sort: { state: 1, dueAt: 1 }, limit, maxTimeMS: SEARCH_MS } as const
  const found = await db.collection(EVENTS).find(filter, options).project<{ _id: ObjectId }>({ _id: 1 }).toArray()
  return found.map(({ _id }) => _id)
}
