import { latestFromNow } from '@oncehook/kernel/mongo/database-clock'
import type { Document, ObjectId } from 'mongodb'
import { EVENTS } from '../event-document.ts'
import { IN_LINE_DUE_AT } from '../lines/line.ts'
import { type ClaimsDeps, ofHandler } from './claims-deps.ts'
import type { DueIndex } from './due-index.ts'

/** How long a search for claimable records may take, in milliseconds. */
export const SEARCH_MS = 4_000
const EPOCH = new Date(0)

/** What a search needs. */
export interface SearchDeps extends Pick<ClaimsDeps, 'db' | 'handler' | 'maxDelayMs' | 'paused'> {
  readonly dueIndex: DueIndex
}

/** A due record that was found. */
export interface DueRecord {
  readonly _id: ObjectId
  readonly provider: string
  /** Set if it may have to wait for another task of its line. */
  readonly line?: string
}

/**
 * Matches due records. An absent due time sorts before every date and means due now. A due time later than any that is
 * ever set comes from a clock that was ahead. It counts as past.
 */
export function isDue({ maxDelayMs, handler }: Pick<ClaimsDeps, 'maxDelayMs' | 'handler'>): Document {
  const latest = latestFromNow(maxDelayMs)
  const $or = [{ $expr: { $lte: ['$dueAt', '$$NOW'] } }, { $expr: { $gt: ['$dueAt', latest] } }]
  const filter = { state: 'pending', ...ofHandler({ handler }), $or }
  return filter
}

/**
 * Finds up to `limit` due records. The longest due come first. Records without a due time, which are new, come before all others in
 * the index. If they fill the limit, `timed` places are for records whose time has come. Otherwise a backlog would
 * prevent all retries. The expression narrows the range of the index, so that a long list of records due later costs
 * nothing.
 */
export async function findDue(deps: SearchDeps, limit: number, timed: number): Promise<DueRecord[]> {
  const filter = isSearchedFor(deps)
  const first = await find(deps, filter, limit)
  if (first.length < limit || timed === 0) return first
  const overtaken = await find(deps, { ...filter, dueAt: { $gte: EPOCH } }, timed)
  const places = new Set(overtaken.map(({ _id }) => String(_id)))
  const others = first.filter(({ _id }) => !places.has(String(_id)))
  const rest = limit - overtaken.length
  return others.length === rest ? first : [...others.slice(0, rest), ...overtaken]
}

/** Due records, except for those that wait in line or until their provider is resumed: the ranges of the index end there. */
function isSearchedFor({ maxDelayMs, paused, handler }: SearchDeps): Document {
  const inLine = typeof handler === 'string' ? [IN_LINE_DUE_AT] : []
  const waits = [...inLine, ...paused().values()]
  const dates = [...new Set(waits.map((date) => date.getTime()))].sort((a, b) => a - b)
  const starts = [latestFromNow(maxDelayMs), ...dates.map((ms) => new Date(ms))]
  const beyond = starts.map((start, index) => {
    const [after, end] = [{ $gt: ['$dueAt', start] }, dates[index]]
    return { $expr: end === undefined ? after : { $and: [after, { $lt: ['$dueAt', new Date(end)] }] } }
  })
  const due = [{ $expr: { $lte: ['$dueAt', '$$NOW'] } }, ...beyond]
  const filter = { state: 'pending', ...ofHandler({ handler }), $or: due }
  return filter
}

async function find({ db, dueIndex }: SearchDeps, filter: Document, limit: number): Promise<DueRecord[]> {
  // While the index is being built, the server refuses the search instead of reading every record.
  return dueIndex.search((order) =>
    db
      .collection(EVENTS)
      .find(filter, { ...order, limit, maxTimeMS: SEARCH_MS })
      .project<DueRecord>({ _id: 1, provider: 1, line: 1 })
      .toArray(),
  )
}
