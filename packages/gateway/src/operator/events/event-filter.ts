import { EVENTS, TASK_STATES } from '@oncehook/queue/task'
import { type Db, type Filter, ObjectId } from 'mongodb'
import { z } from 'zod'
import type { EventDocument } from '../../inbox/event-document.ts'
import { inputText, withoutControls } from '../input-text.ts'

const text = inputText(255)
const instant = z.iso
  .datetime({ offset: true })
  .max(40)
  .transform((value) => new Date(value))

/** Which events an operator selects. Omitted properties match all events. `from` is part of the span, `to` is not. */
export const eventFilterSchema = z.strictObject({
  provider: text.optional(),
  eventId: text.optional(),
  type: text.optional(),
  state: z.enum(TASK_STATES).optional(),
  reason: text.optional(),
  /** Empty: events that nobody wants. */
  handler: z.string().max(255).check(withoutControls).optional(),
  orderId: text.optional(),
  /** The id of the object that the event is about. For an event about a payment, this is the payment. */
  paymentId: text.optional(),
  /** `repeated`: received more than once. `changed`: also received with another body. `any`: one of them. */
  duplicates: z.enum(['any', 'repeated', 'changed']).optional(),
  secretId: text.optional(),
  /** Only test events, or only others. */
  test: z.boolean().optional(),
  from: instant.optional(),
  to: instant.optional(),
})

export type EventFilter = z.output<typeof eventFilterSchema>

/** Ids are opaque. A malformed id is treated as one that does not exist. */
export const idSchema = inputText(64)

/** A page of a list in the order of ids. `after` is the `next` of the previous page. */
export const pageMembers = {
  limit: z.int().min(1).max(100).default(20),
  after: z
    .string()
    .length(24)
    .regex(/^[0-9a-f]{24}$/, { error: 'is not a valid cursor' })
    .optional(),
}

/** The id in a text, or null if no record can have it. */
export function toObjectId(id: string): ObjectId | null {
  return /^[0-9a-f]{24}$/.test(id) ? new ObjectId(id) : null
}

// The search takes one step in the index for each provider.
const DISTINCT_MS = 2_000

/**
 * The database's filter for an operator's filter. Every value is compared literally, never read as a query operator.
 */
export async function toMongoFilter(db: Db, filter: EventFilter): Promise<Filter<EventDocument>> {
  const meant = toPlainFilter(filter)
  if (filter.eventId === undefined || filter.provider !== undefined) return meant
  // The index of event ids begins with the provider, and there are few providers.
  return {
    ...meant,
    provider: { $in: await db.collection<EventDocument>(EVENTS).distinct('provider', {}, { maxTimeMS: DISTINCT_MS }) },
  }
}

function toPlainFilter(filter: EventFilter): Filter<EventDocument> {
  const { from, to, paymentId, duplicates, test, ...equal } = filter
  const wanted = Object.entries({ ...equal, objectId: paymentId }).filter(([, value]) => value !== undefined)
  return {
    ...Object.fromEntries(wanted.map(([name, value]) => [name, { $eq: value }])),
    ...(duplicates === undefined ? {} : DUPLICATES[duplicates]),
    ...(test === undefined ? {} : { test: test ? { $eq: true } : { $ne: true } }),
    ...receivedWithin(from, to),
    ...idRangeOf({ from, to }),
  }
}

const REPEATED = { deliveries: { $gt: 1 } }
const CHANGED = { mismatches: { $gt: 0 } }
const DUPLICATES = { any: { $or: [REPEATED, CHANGED] }, repeated: REPEATED, changed: CHANGED }

// An id begins with the second in which its record was created, right after its receipt. So, with a margin, a time span
// is a range of the one index that contains every record.
const MARGIN_SECONDS = 60

/** The range of ids that contains every event of a filter's time span. */
export function idRangeOf({ from, to }: Pick<EventFilter, 'from' | 'to'>): Filter<EventDocument> {
  if (from === undefined && to === undefined) return {}
  return {
    _id: {
      ...(from === undefined ? {} : { $gte: idOfSecond(from, -MARGIN_SECONDS) }),
      ...(to === undefined ? {} : { $lt: idOfSecond(to, MARGIN_SECONDS) }),
    },
  }
}

function receivedWithin(from: Date | undefined, to: Date | undefined): Filter<EventDocument> {
  if (from === undefined && to === undefined) return {}
  return { receivedAt: { ...(from === undefined ? {} : { $gte: from }), ...(to === undefined ? {} : { $lt: to }) } }
}

function idOfSecond(at: Date, shift: number): ObjectId {
  const second = Math.floor(at.getTime() / 1_000) + shift
  return ObjectId.createFromTime(Math.min(Math.max(second, 0), 0xffff_ffff))
}

/** The ids before a position in the order of ids. Without a position, all of our ids; ids of other types are not ours. */
export function beforeCursor(after: ObjectId | undefined): Filter<EventDocument> {
  return { _id: after === undefined ? { $type: 'objectId' } : { $lt: after } }
}
