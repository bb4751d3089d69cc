import { type Db, ObjectId } from 'mongodb'
import { z } from 'zod'
import { pausedHandlers } from '../handlers/paused-handlers.ts'
import { sentHandlers } from '../handlers/sent-handlers.ts'
import { EVENTS, type EventDocument } from '../inbox/event-document.ts'
import { countState, oldestUnsettledSeconds, readInboxDepth } from '../inbox/statistics/inbox-depth.ts'
import { procedure, SEARCH_MS } from './operator-trpc.ts'

const MINUTE_MS = 60_000
const COUNTED_AT_MOST = 1_000_000

interface PausedHandlers {
  /** The names of the paused handlers. Absent: a gateway of an earlier version. */
  readonly pausedHandlers?: readonly string[]
}

/**
 * `overview`: counts by state, dead events by reason, the age in seconds of the oldest unsettled event (except for
 * paused providers and handlers), the paused providers and handlers, and the number of events stored within the last
 * minute. A property is null if the database did not answer in time. `done` is the rest of an estimated total.
 */
export const overviewProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const { db, clock, pauses } = ctx
  const events = db.collection<EventDocument>(EVENTS)
  const since = ObjectId.createFromTime(Math.floor((clock.now() - MINUTE_MS) / 1_000))
  const [total, depth, unhandled, deadByReason, receivedLastMinute] = await Promise.all([
    events.estimatedDocumentCount({ maxTimeMS: SEARCH_MS }),
    readInboxDepth(db, sentHandlers(ctx.handlers?.(), ctx.handlerPauses.current)),
    countState(db, 'unhandled').catch(() => null),
    countDeadByReason(db).catch(() => null),
    events.countDocuments({ _id: { $gte: since } }, { maxTimeMS: SEARCH_MS, limit: COUNTED_AT_MOST }).catch(() => null),
  ])
  const { pending, processing, dead, closed } = depth
  const paused: PausedHandlers = { pausedHandlers: pausedHandlers(ctx.handlers?.(), ctx.handlerPauses.current) }
  return {
    states: {
      ...{ pending, processing, dead, closed, unhandled },
      done: doneOf(total, [pending, processing, dead, closed, unhandled]),
    },
    deadByReason,
    oldestUnsettledSeconds: oldestUnsettledSeconds(depth, pauses.current),
    pausedProviders: [...pauses.current.keys()],
    ...paused,
    receivedLastMinute,
  }
})

function doneOf(total: number, others: readonly (number | null)[]): number | null {
  const known = others.filter((count) => count !== null)
  return known.length < others.length ? null : known.reduce((rest, count) => Math.max(0, rest - count), total)
}

async function countDeadByReason(db: Db): Promise<Record<string, number>> {
  const reasons = await db
    .collection<EventDocument>(EVENTS)
    .aggregate<{ _id: string; count: number }>(
      [{ $match: { state: 'dead' } }, { $group: { _id: '$reason', count: { $sum: 1 } } }, { $sort: { count: -1 } }],
      { maxTimeMS: SEARCH_MS, hint: 'dead' },
    )
    .toArray()
  return Object.fromEntries(reasons.map(({ _id, count }) => [_id, count]))
}
