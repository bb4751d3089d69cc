import { ObjectId } from 'mongodb'
import { z } from 'zod'
import { type NotKeptDocument, REFUSALS, type RefusalDocument } from '../webhooks/refusals/refusals.ts'
import { pageMembers } from './events/event-filter.ts'
import { inputText } from './input-text.ts'
import { procedure, SEARCH_MS } from './operator-trpc.ts'

const name = inputText(255)

/**
 * `refusals.list`: refused deliveries, newest first, and the numbers of those without a record. `reason` is an error
 * code, or why a delivery was not authentic.
 */
export const listRefusalsProcedure = procedure
  .input(z.strictObject({ provider: name.optional(), reason: name.optional(), ...pageMembers }).prefault({}))
  .query(async ({ ctx, input: { limit, after, ...selected } }) => {
    const filter = toFilter(selected)
    const id = after === undefined ? { $type: 'objectId' as const } : { $lt: new ObjectId(after) }
    const options = { maxTimeMS: SEARCH_MS }
    const [found, counts] = await Promise.all([
      ctx.db
        .collection<RefusalDocument>(REFUSALS)
        .find({ ...filter, id }, options)
        .sort({ id: -1 })
        .limit(limit + 1)
        .toArray(),
      ctx.db
        .collection<NotKeptDocument>(REFUSALS)
        .find({ ...filter, count: { $gt: 0 } }, options)
        .limit(MOST_COUNTS)
        .toArray(),
    ])
    const items = found.slice(0, limit).map(showRefusal)
    return {
      items,
      next: found.length > limit ? (items.at(-1)?.id ?? null) : null,
      notKept: counts.map(showCount).toSorted((one, other) => other.count - one.count),
    }
  })

/**
 * `refusals.counts`: the number of records for each reason, of all providers or of one. The reasons are in alphabetical
 * order, in the form that `refusals.list` selects by.
 */
export const countRefusalsProcedure = procedure
  .input(z.strictObject({ provider: name.optional() }).prefault({}))
  .query(async ({ ctx, input }) => {
    const counted = await ctx.db
      .collection(REFUSALS)
      .aggregate<{ _id: string; records: number }>(
        [
          { $match: { ...toFilter(input), id: { $type: 'objectId' } } },
          { $group: { _id: { $ifNull: ['$why', '$reason'] }, records: { $sum: 1 } } },
          { $sort: { _id: 1 } },
        ],
        { maxTimeMS: SEARCH_MS },
      )
      .toArray()
    return counted.map(({ _id: reason, records }) => ({ reason, records }))
  })

const MOST_COUNTS = 1_000

/** Every value is compared literally. */
function toFilter({ provider, reason }: { provider?: string | undefined; reason?: string | undefined }) {
  return {
    ...(provider === undefined ? {} : { provider: { $eq: provider } }),
    ...(reason === undefined ? {} : { $or: [{ reason: { $eq: reason } }, { why: { $eq: reason } }] }),
  }
}

function showRefusal({ _id, expireAt, id, at, ...refusal }: RefusalDocument) {
  return { id: String(id), at: at.toISOString(), ...refusal }
}

function showCount({ provider, reason, why, count, since, lastAt }: NotKeptDocument) {
  return { provider, reason, why, count, since: since.toISOString(), lastAt: lastAt.toISOString() }
}
