import { latestFromNow } from '@oncehook/kernel/mongo/database-clock'
import type { Db, Document, ObjectId } from 'mongodb'
import { counterOf } from './expressions.ts'
import { BY_DUE, DUE_INDEX, EVENTS, IN_LINE_DUE_AT } from './task.ts'

export const SEARCH_MS = 4_000

/** Whose tasks are searched for, and which times are believed. Times are in milliseconds. */
export interface DueSearch {
  readonly handler: string
  /** How long a claim lasts: until its task is sent, and as long as its call may take. */
  readonly lastsMs: number
  /** The longest delay that is ever set for a record. A later due time comes from a wrong clock. */
  readonly maxDelayMs: number
}

export interface DueRecord {
  readonly _id: ObjectId
  readonly provider: string
  /** Set if it may have to wait for another task of its line. */
  readonly line?: string
  /** Its consecutive losses. A record that has any becomes a suspect. */
  readonly lost: number
}

/** Matches processing records whose claims have ended, or have an end that is later than any that is ever set. */
export function isOver({ handler, maxDelayMs, lastsMs }: DueSearch): Document {
  const latest = latestFromNow(Math.max(maxDelayMs, lastsMs))
  const $or = [{ $expr: { $lte: ['$dueAt', '$$NOW'] } }, { $expr: { $gt: ['$dueAt', latest] } }]
  const filter = { state: 'processing', handler, $or }
  return filter
}

/** Matches due records. A due time later than any that is ever set comes from a clock that was ahead. It counts as past. */
export function isDue({ handler, maxDelayMs }: Omit<DueSearch, 'lastsMs'>): Document {
  const latest = latestFromNow(maxDelayMs)
  const $or = [{ $expr: { $lte: ['$dueAt', '$$NOW'] } }, { $expr: { $gt: ['$dueAt', latest] } }]
  const filter = { state: 'pending', handler, $or }
  return filter
}

export interface FindDue extends Omit<DueSearch, 'lastsMs'> {
  readonly db: Db
  readonly paused: () => ReadonlyMap<string, Date>
}

/** The longest due first. The expression narrows the range of the index: what is due later costs nothing. */
export function findDue(search: FindDue, limit: number): Promise<DueRecord[]> {
  // Without the index, the server refuses the search instead of reading every record.
  return search.db
    .collection(EVENTS)
    .find(isSearchedFor(search), { hint: DUE_INDEX, sort: BY_DUE, limit, maxTimeMS: SEARCH_MS })
    .project<DueRecord>({ _id: 1, provider: 1, line: 1, lost: counterOf('lost') })
    .toArray()
}

/** Due records, except for those that wait in line or until their provider is resumed: the ranges of the index end there. */
function isSearchedFor({ maxDelayMs, paused, handler }: FindDue): Document {
  const waits = [IN_LINE_DUE_AT, ...paused().values()]
  const dates = [...new Set(waits.map((date) => date.getTime()))].sort((a, b) => a - b)
  const starts = [latestFromNow(maxDelayMs), ...dates.map((ms) => new Date(ms))]
  const beyond = starts.map((start, index) => {
    const [after, end] = [{ $gt: ['$dueAt', start] }, dates[index]]
    return { $expr: end === undefined ? after : { $and: [after, { $lt: ['$dueAt', new Date(end)] }] } }
  })
  const due = [{ $expr: { $lte: ['$dueAt', '$$NOW'] } }, ...beyond]
  const filter = { state: 'pending', handler, $or: due }
  return filter
}
