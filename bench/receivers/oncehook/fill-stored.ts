import { randomBytes, randomUUID } from 'node:crypto'
import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, type Db, ObjectId } from 'mongodb'

const CHUNK = 1_000
const AT_ONCE = 2
const DAYS_MS = 80 * 86_400_000

/**
 * Stores records like the template. Each has its own ids, body, digest and times, which are in order and spread over
 * the last 80 days.
 */
export async function fillStored(db: Db, template: EventDocument, count: number): Promise<void> {
  const began = Date.now() - DAYS_MS
  const body = Buffer.from(template.raw.buffer).toString()
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next += CHUNK
      const length = Math.min(CHUNK, count - from)
      const documents = Array.from({ length }, (_, index) => {
        const at = began + ((from + index) / count) * DAYS_MS
        return vary({ template, body, at: Math.floor(at), index: from + index })
      })
      const reply = await db.command({ insert: EVENTS, documents, ordered: false, writeConcern: { w: 1 } })
      if (reply.n !== length) throw new Error('Records to begin with were not stored')
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

interface Variation {
  readonly template: EventDocument
  readonly body: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly index: number
}

function vary({ template, body, at, index }: Variation): EventDocument {
  const unique = randomBytes(15).toString('base64url')
  const eventId = `evt_${unique}`
  const objectId = `pi_${unique}`
  const moved = at - template.receivedAt.getTime()
  return {
    ...template,
    ...movedInstants(template, moved),
    _id: idAt(at, index),
    eventId,
    objectId,
    orderId: `order-${index}`,
    raw: new Binary(Buffer.from(body.replace(template.eventId, eventId).replace(template.objectId, objectId))),
    bodyHash: randomBytes(32).toString('base64'),
    requestId: randomUUID(),
  }
}

/** All instants of the record, moved by the same number of milliseconds. */
function movedInstants(template: EventDocument, moved: number): Partial<EventDocument> {
  const entries = Object.entries(template).filter(([, value]) => value instanceof Date)
  return Object.fromEntries(entries.map(([name, value]) => [name, new Date((value as Date).getTime() + moved)]))
}

/** An id of the second of `at`. Ids rise with the index. */
function idAt(at: number, index: number): ObjectId {
  const id = Buffer.alloc(12)
  id.writeUInt32BE(Math.floor(at / 1_000), 0)
  id.writeUInt32BE(index, 8)
  return new ObjectId(id)
}
