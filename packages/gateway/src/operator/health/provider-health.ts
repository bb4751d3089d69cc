import { EVENTS } from '@oncehook/queue/task'
import type { Provider } from '@oncehook/webhooks/providers'
import { type Db, type Document, type Filter, ObjectId } from 'mongodb'
import { z } from 'zod'
import { sentHandlers } from '../../handlers/handler-dispatchers.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { readInboxDepth } from '../../inbox/statistics/inbox-depth.ts'
import { findEnding, PROVIDER_STATS, type ProviderCounter } from '../../inbox/statistics/provider-stats.ts'
import { type SearchBudget, walkSlices } from '../events/event-search.ts'
import { procedure, SEARCH_MS } from '../operator-trpc.ts'

const BUDGET: SearchBudget = { ms: 1_000, now: () => performance.now() }
const ENDS_SOON_MS = 14 * 86_400_000

/**
 * `providers.health`: for each configured provider its last authentic delivery, how many of its events were stored
 * within the last minute and hour, its refused deliveries so far by reason, the age in seconds of its oldest unsettled
 * event, whether it is silent for longer than usual, and its secrets that expire within 14 days. Counting is limited to
 * 1 s: if there were too many events, `countedFrom` is later than an hour ago. Counts and ages are null if the database
 * did not return them in time.
 */
export const providerHealthProcedure = procedure.input(z.strictObject({}).optional()).query(async ({ ctx }) => {
  const { db, clock } = ctx
  const now = clock.now()
  const [stats, { oldest }, received] = await Promise.all([
    db.collection<ProviderCounter>(PROVIDER_STATS).find({}, { maxTimeMS: SEARCH_MS }).limit(10_000).toArray(),
    readInboxDepth(db, sentHandlers(ctx.handlers?.(), ctx.handlerPauses.current), ctx.pauses.current.keys()),
    countReceived(db, now, BUDGET).catch(() => null),
  ])
  const byProvider = Map.groupBy(stats, ({ _id }) => _id.provider)
  const none = received === null ? null : 0
  return {
    countedFrom: received?.countedFrom.toISOString() ?? null,
    providers: [...ctx.providers().values()].map((provider) => ({
      ...showHealth(provider, byProvider.get(provider.name) ?? [], now),
      lastMinute: received?.byProvider.get(provider.name)?.lastMinute ?? none,
      lastHour: received?.byProvider.get(provider.name)?.lastHour ?? none,
      oldestUnsettledSeconds: oldest === null ? null : (oldest.get(provider.name) ?? 0),
    })),
  }
})

// Every other outcome of a delivery is the code of a refusal.
const NOT_REFUSED = ['recorded', 'duplicate', 'unhandled', 'handshake', 'asked_in_vain']

function showHealth({ name, secrets }: Provider, stats: readonly ProviderCounter[], now: number) {
  const { lastDeliveryAt, usualGapMs, silentSince } = silenceOf(stats, now)
  const refused = stats.filter(({ _id }) => _id.kind === 'delivery' && !NOT_REFUSED.includes(_id.name))
  return {
    name,
    lastDeliveryAt: lastDeliveryAt?.toISOString() ?? null,
    silentSince: silentSince?.toISOString() ?? null,
    usualGapSeconds: usualGapMs === null ? null : Math.round(usualGapMs / 1_000),
    refused: refused.map(({ _id, count, lastAt }) => ({ reason: _id.name, count, lastAt: lastAt.toISOString() })),
    secretsEnding: findEnding(secrets, stats, { now, withinMs: ENDS_SOON_MS }),
  }
}

/** The events of a provider within the last minute, and since `countedFrom`. */
interface ReceivedCounts {
  readonly lastMinute: number
  readonly lastHour: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const HINT = { _id: 1 } as const

/**
 * Counts the events of each provider, newest first, until the time budget is used up. `at` is in milliseconds. `countedFrom` is an
 * hour before it, or later if the time was over before.
 */
export async function countReceived(db: Db, at: number, budget: SearchBudget) {
  const endsAt = budget.now() + budget.ms
  const range = { _id: { $gte: idOf(at - HOUR_MS) } }
  const byProvider = new Map<string, ReceivedCounts>()
  const read = (slice: Filter<EventDocument>, maxTimeMS: number) =>
    db
      .collection<EventDocument>(EVENTS)
      .aggregate<CountedSlice>([{ $match: slice }, ...countSince(at - MINUTE_MS)], { maxTimeMS, hint: HINT })
  for await (const { found, reached } of walkSlices(
    db,
    { order: { records: {}, hint: HINT }, range, after: undefined },
    read,
  )) {
    for (const { name, lastMinute, lastHour } of found?.providers ?? []) {
      const counts = byProvider.get(name) ?? { lastMinute: 0, lastHour: 0 }
      byProvider.set(name, { lastMinute: counts.lastMinute + lastMinute, lastHour: counts.lastHour + lastHour })
    }
    // A count is about a whole slice, so the end of the slice follows.
    if (found === null && budget.now() >= endsAt) return { byProvider, countedFrom: reached.getTimestamp() }
  }
  return { byProvider, countedFrom: new Date(at - HOUR_MS) }
}

interface CountedSlice {
  readonly _id: ObjectId
  readonly providers: readonly (ReceivedCounts & { readonly name: string })[]
}

/** An event counts once, however many handlers want it: their tasks are stored together, so a slice seldom parts them. */
function countSince(minute: number): Document[] {
  const isNew = { $gte: ['$_id', idOf(minute)] }
  return [
    {
      $group: {
        _id: '$provider',
        oldest: { $min: '$_id' },
        lastMinute: { $addToSet: { $cond: [isNew, '$eventId', '$$REMOVE'] } },
        lastHour: { $addToSet: '$eventId' },
      },
    },
    { $set: { lastMinute: { $size: '$lastMinute' }, lastHour: { $size: '$lastHour' } } },
    {
      $group: {
        _id: null,
        oldest: { $min: '$oldest' },
        providers: { $push: { name: '$_id', lastMinute: '$lastMinute', lastHour: '$lastHour' } },
      },
    },
    { $project: { _id: '$oldest', providers: 1 } },
  ]
}

function idOf(at: number): ObjectId {
  return ObjectId.createFromTime(Math.floor(at / 1_000))
}

// For these outcomes, a record exists or existed.
const STORED = ['recorded', 'duplicate', 'unhandled']
const WEEK_MS = 7 * 86_400_000
const LEAST_MS = 900_000

/**
 * Decides from the statistics of a provider at `now`, in milliseconds. A provider is silent if its last delivery is
 * more than twice its usual pause ago, and at least 15 minutes ago. The usual pause, the longest one, is null until it has been
 * observed for a week.
 */
export function silenceOf(stats: readonly ProviderCounter[], now: number) {
  const deliveries = stats.filter(({ _id }) => _id.kind === 'delivery' && STORED.includes(_id.name))
  const last = Math.max(...deliveries.map(({ lastAt }) => lastAt.getTime()))
  if (deliveries.length === 0) return { lastDeliveryAt: null, usualGapMs: null, silentSince: null }
  // Any of its counters bounds the pauses of the provider as a whole.
  const observed = deliveries.filter(({ gapsSince }) => now - gapsSince.getTime() >= WEEK_MS)
  const lastDeliveryAt = new Date(last)
  if (observed.length === 0) return { lastDeliveryAt, usualGapMs: null, silentSince: null }
  const usualGapMs = Math.min(...observed.map(({ longestGapMs }) => longestGapMs))
  const isSilent = now - last > Math.max(2 * usualGapMs, LEAST_MS)
  return { lastDeliveryAt, usualGapMs, silentSince: isSilent ? lastDeliveryAt : null }
}
