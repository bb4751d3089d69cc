import { type Filter, ObjectId } from 'mongodb'
import { z } from 'zod'
import type { EventDocument } from '../inbox/event-document.ts'

const text = z.string().min(1).max(255)
const instant = z.iso.datetime({ offset: true }).transform((value) => new Date(value))

/** Which events an operator means; members that are left out mean all. */
export const eventFilterSchema = z.strictObject({
  provider: text.optional(),
  type: text.optional(),
  state: z.enum(['pending', 'processing', 'done', 'unhandled', 'dead']).optional(),
  reason: text.optional(),
  orderId: text.optional(),
  from: instant.optional(),
  to: instant.optional(),
})

/** Which events an operator means. */
export type EventFilter = z.output<typeof eventFilterSchema>

/** An id as the operator's API shows it, or nothing that any record has. */
export const eventIdSchema = z.string().regex(/^[0-9a-f]{24}$/, { error: 'is not the id of an event' })

/** The database's filter for what an operator means. Every value is compared as it is, never read as an operator. */
export function toMongoFilter({ from, to, ...equal }: EventFilter): Filter<EventDocument> {
  const wanted = Object.entries(equal).filter(([, value]) => value !== undefined)
  const receivedAt = { ...(from === undefined ? {} : { $gte: from }), ...(to === undefined ? {} : { $lt: to }) }
  return {
    ...Object.fromEntries(wanted.map(([name, value]) => [name, { $eq: value }])),
    ...(from === undefined && to === undefined ? {} : { receivedAt }),
  }
}

/** The ids before a cursor, which is the id of the last event of the page before. */
export function beforeCursor(after: string | undefined): Filter<EventDocument> {
  return after === undefined ? {} : { _id: { $lt: new ObjectId(after) } }
}
