import { Binary, type Document } from 'mongodb'
import type { EventDocument } from './event-document.ts'
import { counterOf } from './record-expressions.ts'

/** The reason of a settled record that has nothing left but its key. */
const EXPIRED = 'expired'

/**
 * What is left of a record whose retention has ended, but whose key must stay. It is enough to answer a copy with 200
 * and to detect a copy with another body, and it starts nothing. As `done` it is in no index of a state.
 */
export const KEY_ONLY: Document = {
  ...{ _id: '$_id', provider: '$provider', eventId: '$eventId', bodyHash: '$bodyHash', receivedAt: '$receivedAt' },
  ...{ state: 'done', reason: EXPIRED, deliveries: counterOf('deliveries'), mismatches: counterOf('mismatches') },
}

/** What is left of an erased event. */
export const ERASED: Document = { ...KEY_ONLY, reason: 'erased' }

/** The fields of a record after its body and headers were removed. `BODY_ELSEWHERE` must be removed too. */
export const WITHOUT_BODY: Document = { raw: { $literal: new Binary(Buffer.alloc(0)) }, headers: { $literal: {} } }

/** The other fields of the body. */
export const BODY_ELSEWHERE = ['query', 'bodyId', 'sealed']

/** Matches records that still have everything they were stored with. */
export const IS_COMPLETE: Document = { type: { $exists: true } }

const GONE = {
  ...{ type: '', objectId: '', orderId: '', facts: {}, raw: new Binary(Buffer.alloc(0)), headers: {}, secretId: '' },
  ...{ requestId: '', starts: 0, lost: 0, failures: 0, fence: 0, attempts: [], lastError: null, outcome: null },
}

/** Completes a record with empty values for the fields that have expired. */
export function withGone<T extends Partial<EventDocument>>(record: T): T {
  return { ...GONE, ...record }
}
