import { type Collection, ObjectId } from 'mongodb'
import { z } from 'zod'
import { EVENTS, type EventDocument, type EventState } from '../inbox/event-document.ts'
import { readInboxDepth } from '../inbox/inbox-depth.ts'
import { TALLIES, type Tally } from '../inbox/tallies.ts'
import type { Provider } from '../providers/provider.ts'
import { eventIdSchema } from './event-filter.ts'
import { procedure } from './operator-trpc.ts'

const nothing = z.strictObject({}).optional()
const SEARCH_MS = 5_000
const MINUTE_MS = 60_000
const COUNTED_AT_MOST = 1_000_000

/** `overview`: counts by state, ages in seconds, deliveries stored in the last minute. */
export const overviewProcedure = procedure.input(nothing).query(async ({ ctx }) => {
  const events = ctx.db.collection<EventDocument>(EVENTS)
  const few: EventState[] = ['pending', 'processing', 'dead']
  const [total, depth, lastMinute, unhandled, ...counts] = await Promise.all([
    events.estimatedDocumentCount(),
    readInboxDepth(ctx.db),
    events.countDocuments(
      { _id: { $gte: ObjectId.createFromTime((ctx.clock.now() - MINUTE_MS) / 1_000) } },
      { maxTimeMS: SEARCH_MS, limit: COUNTED_AT_MOST },
    ),
    events.countDocuments({ state: 'unhandled' }, { maxTimeMS: SEARCH_MS, limit: COUNTED_AT_MOST }).catch(() => null),
    ...few.map((state) => events.countDocuments({ state }, { maxTimeMS: SEARCH_MS })),
  ])
  const [pending = 0, processing = 0, dead = 0] = counts
  const done = unhandled === null ? null : Math.max(0, total - pending - processing - dead - unhandled)
  return {
    states: { pending, processing, dead, unhandled, done },
    oldestUnsettledSeconds: depth.oldestUnsettledSeconds,
    receivedLastMinute: lastMinute,
  }
})

/** `providers.list`: every provider with its secrets, never their values, and what came from it. */
export const listProvidersProcedure = procedure.input(nothing).query(async ({ ctx }) => {
  const tallies = await ctx.db.collection<Tally>(TALLIES).find().limit(10_000).toArray()
  const ages = await oldestByProvider(ctx.db.collection<EventDocument>(EVENTS))
  return [...ctx.providers().values()].map((provider) => showProvider(provider, tallies, ages))
})

type Ages = ReadonlyMap<string, number>

function showProvider({ name, scheme, secrets }: Provider, tallies: readonly Tally[], ages: Ages) {
  const own = tallies.filter(({ _id }) => _id.provider === name)
  const matchesOf = (id: string): Tally | undefined => own.find(({ _id }) => _id.kind === 'secret' && _id.name === id)
  return {
    name,
    scheme,
    path: `/api/webhooks/${name}`,
    secrets: secrets.map(({ id, notAfter }) => ({
      id,
      notAfter: notAfter === null ? null : new Date(notAfter).toISOString(),
      lastMatchedAt: matchesOf(id)?.lastAt.toISOString() ?? null,
      matches: matchesOf(id)?.count ?? 0,
    })),
    deliveries: Object.fromEntries(
      own.filter(({ _id }) => _id.kind === 'delivery').map(({ _id, count }) => [_id.name, count]),
    ),
    oldestUnsettledSeconds: ages.get(name) ?? null,
  }
}

async function oldestByProvider(events: Collection<EventDocument>): Promise<Ages> {
  const groups = await events
    .aggregate<{ _id: string; seconds: number }>(
      [
        { $match: { state: { $in: ['pending', 'processing'] } } },
        { $group: { _id: '$provider', receivedAt: { $min: '$receivedAt' } } },
        { $project: { seconds: { $divide: [{ $subtract: ['$$NOW', '$receivedAt'] }, 1_000] } } },
      ],
      { maxTimeMS: SEARCH_MS },
    )
    .toArray()
  return new Map(groups.map(({ _id, seconds }) => [_id, Math.max(0, seconds)]))
}

/** `audit.list`: who did what and why, newest first. */
export const listAuditProcedure = procedure
  .input(z.strictObject({ limit: z.int().min(1).max(100).default(20), after: eventIdSchema.optional() }).prefault({}))
  .query(async ({ ctx, input: { limit, after } }) => {
    const found = await ctx.audit.list({
      limit: limit + 1,
      after: after === undefined ? undefined : new ObjectId(after),
    })
    const items = found
      .slice(0, limit)
      .map(({ _id, at, ...entry }) => ({ id: String(_id), at: at.toISOString(), ...entry }))
    return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
  })
