import { EVENTS, STATE_INDEX } from '@oncehook/queue/task'
import { type Db, ObjectId } from 'mongodb'
import { z } from 'zod'
import { pausedHandlers, sentHandlers } from '../handlers/handler-dispatchers.ts'
import type { EventDocument } from '../inbox/event-document.ts'
import { countState, oldestUnsettledSeconds, readInboxDepth } from '../inbox/statistics/inbox-depth.ts'
import { procedure, SEARCH_MS } from './operator-trpc.ts'

const MINUTE_MS = 60_000
const COUNTED_AT_MOST = 1_000_000

/**
 * `overview`: counts by state, dead events by reason (the 20 most frequent, and how many have another), the age in seconds of the oldest unsettled event (except for
 * paused providers and handlers), the paused providers and handlers, and the number of events stored within the last
 * minute. A property is null if the database did not answer in time. `done` is the rest of an estimated total.
 */
export const overviewProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const { db, clock, pauses } = ctx
  const events = db.collection<EventDocument>(EVENTS)
  const since = ObjectId.createFromTime(Math.floor((clock.now() - MINUTE_MS) / 1_000))
  const [total, depth, unhandled, reasons, receivedLastMinute] = await Promise.all([
    events.estimatedDocumentCount({ maxTimeMS: SEARCH_MS }),
    readInboxDepth(db, sentHandlers(ctx.handlers?.(), ctx.handlerPauses.current), pauses.current.keys()),
    countState(db, 'unhandled').catch(() => null),
    countDeadByReason(db).catch(() => null),
    events.countDocuments({ _id: { $gte: since } }, { maxTimeMS: SEARCH_MS, limit: COUNTED_AT_MOST }).catch(() => null),
  ])
  const { pending, processing, dead, closed } = depth
  const { deadByReason, deadOfOtherReasons } = reasons ?? { deadByReason: null, deadOfOtherReasons: null }
  return {
    states: {
      ...{ pending, processing, dead, closed, unhandled },
      done: doneOf(total, [pending, processing, dead, closed, unhandled]),
    },
    deadByReason,
    oldestUnsettledSeconds: oldestUnsettledSeconds(depth, pauses.current),
    pausedProviders: [...pauses.current.keys()],
    deadOfOtherReasons,
    pausedHandlers: pausedHandlers(ctx.handlers?.(), ctx.handlerPauses.current),
    receivedLastMinute,
  }
})

function doneOf(total: number, others: readonly (number | null)[]): number | null {
  const known = others.filter((count) => count !== null)
  return known.length < others.length ? null : known.reduce((rest, count) => Math.max(0, rest - count), total)
}

// A handler chooses the reasons of its tasks: there may be as many as tasks.
const MOST_REASONS = 20

interface CountedReasons {
  readonly frequent: readonly { readonly _id: string; readonly count: number }[]
  readonly all: readonly { readonly count: number }[]
}

async function countDeadByReason(db: Db) {
  const [counted] = await db
    .collection<EventDocument>(EVENTS)
    .aggregate<CountedReasons>(
      [
        { $match: { state: 'dead' } },
        { $group: { _id: '$reason', count: { $sum: 1 } } },
        {
          $facet: {
            frequent: [{ $sort: { count: -1, _id: 1 } }, { $limit: MOST_REASONS }],
            all: [{ $group: { _id: null, count: { $sum: '$count' } } }],
          },
        },
      ],
      { maxTimeMS: SEARCH_MS, hint: STATE_INDEX },
    )
    .toArray()
  const { frequent = [], all = [] } = counted ?? {}
  const listed = frequent.reduce((sum, { count }) => sum + count, 0)
  return {
    deadByReason: Object.fromEntries(frequent.map(({ _id, count }) => [_id, count])),
    deadOfOtherReasons: (all[0]?.count ?? 0) - listed,
  }
}
