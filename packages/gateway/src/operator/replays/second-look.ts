import { fromNow } from '@oncehook/kernel/mongo/lease'
import { type Document, ObjectId } from 'mongodb'
import type { ReplayDocument } from './replay-document.ts'

/*
 * A gateway that does not know a handler yet stores an event without its task. It may read the file of the handlers later
 * than the gateway at which the backfill was requested, and its clock may be behind. So a backfill looks twice: at
 * everything up to the request, and after a margin once more at the time around the request. Then it reads only events
 * without a task, and gives the handler those that it wanted at the request and wants now: if its setting has changed
 * meanwhile, a later event rightly has no task.
 */

/** How long after its request a backfill looks again, and how far around the request, in milliseconds. */
export const MARGIN_MS = 120_000

/** How long a replay may wait, and how long its lease is otherwise, in milliseconds. */
interface SecondLookTimes {
  readonly marginMs: number
  readonly leaseMs: number
  readonly longestMs: number
}

/** Whether a replay that has got to its end must look again. */
export function mustLookAgain(replay: ReplayDocument): boolean {
  return replay.handler !== undefined && !isSecondLook(replay)
}

/** Whether a backfill looks for the second time. */
export function isSecondLook({ lookedUntil }: Pick<ReplayDocument, 'lookedUntil'>): boolean {
  return lookedUntil !== undefined
}

/** The time at which the window of the second look begins, or a second before. */
export function windowStartOf({ startedAt, until }: Pick<ReplayDocument, 'startedAt' | 'until'>): Date {
  const start = startedAt.getTime()
  const end = until?.getTimestamp().getTime() ?? start
  return new Date(start - (end - start))
}

/** The fields of a backfill at the end of its first look: it waits until the margin is over, or looks again. */
export function lookAgain(
  { startedAt, until }: ReplayDocument,
  last: ObjectId | null,
  { marginMs, leaseMs, longestMs }: SecondLookTimes,
): Document {
  const start = startedAt.getTime()
  const end = new Date(start + marginMs)
  // A start in the future comes from a clock that was ahead.
  const isOver = { $or: [{ $gte: ['$$NOW', end] }, { $lt: ['$$NOW', startedAt] }] }
  const lookedUntil = until ?? last
  return {
    cursor: { $cond: [isOver, idAt(start - marginMs), lookedUntil] },
    until: { $cond: [isOver, idAt(start + marginMs + SECOND_MS), '$until'] },
    lookedUntil: { $cond: [isOver, lookedUntil, '$$REMOVE'] },
    leaseUntil: { $cond: [isOver, fromNow(leaseMs), { $min: [end, fromNow(longestMs)] }] },
  }
}

/** Whether an event was not read in the first look, so that it is counted and logged once. */
export function isFirstRead({ lookedUntil }: ReplayDocument, id: ObjectId): boolean {
  return lookedUntil === undefined || lookedUntil === null || id.toHexString() > lookedUntil.toHexString()
}

const SECOND_MS = 1_000

/** An id that is lower than all others of its second. */
function idAt(ms: number): ObjectId {
  return ObjectId.createFromTime(Math.floor(ms / SECOND_MS))
}
