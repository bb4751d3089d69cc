import { randomUUID } from 'node:crypto'
import { Binary, type Db, ObjectId } from 'mongodb'
import { type EventDocument, FULFILMENT } from '../inbox/event-document.ts'

/**
 * A record of an event whose type has no effect, and that nothing changes. The given properties replace the usual ones.
 */
export function sampleRecord(members: Partial<EventDocument> = {}): EventDocument {
  const receivedAt = members.receivedAt ?? new Date()
  return {
    _id: new ObjectId(ObjectId.generate(Math.floor(receivedAt.getTime() / 1_000))),
    ...{ provider: 'acme', eventId: randomUUID(), handler: FULFILMENT, type: 'of.no.effect', objectId: 'pay_1' },
    ...{
      orderId: 'ord_1',
      facts: {},
      receivedAt,
      raw: new Binary(Buffer.from('{}')),
      bodyHash: '',
      headers: {},
      secretId: 'newer',
    },
    ...{ requestId: 'request-1', state: 'done', reason: null, starts: 1, lost: 0, failures: 0, fence: 1 },
    ...{ attempts: [], lastError: null, outcome: null, deliveries: 1, mismatches: 0, settledAt: receivedAt },
    ...members,
  }
}

/** Lets a process that does not exist live for an hour: nobody takes over what it holds. */
export async function keepOwnerAlive(db: Db, owner: string): Promise<void> {
  const leaseMs = 3_600_000
  const alive = { aliveAt: '$$NOW', aliveUntil: { $add: ['$$NOW', leaseMs] }, leaseMs }
  await db.collection<{ _id: string }>('owners').updateOne({ _id: owner }, [{ $set: alive }], { upsert: true })
}
