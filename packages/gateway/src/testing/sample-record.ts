import { randomUUID } from 'node:crypto'
import { Binary, ObjectId } from 'mongodb'
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
    ...{ requestId: 'request-1', state: 'done', reason: null, starts: 1, lost: 0 },
    ...{ attempts: [], deliveries: 1, mismatches: 0, settledAt: receivedAt },
    ...members,
  }
}
