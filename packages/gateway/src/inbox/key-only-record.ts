import { Binary, type Document } from 'mongodb'
import type { EventDocument } from './event-document.ts'
import { counterOf } from './record-expressions.ts'

/** Why a settled record has nothing left but its key. */
const EXPIRED = 'expired'

/**
 * What is left of a record whose retention has ended, but whose key must stay: enough to answer a copy with 200, to tell
 * one with another body, and to start nothing. As `done` it is in no index of a state.
 */
export const KEY_ONLY: Document = {
  ...{ _id: '$_id', provider: '$provider', eventId: '$eventId', bodyHash: '$bodyHash', receivedAt: '$receivedAt' },
  ...{ state: 'done', reason: EXPIRED, deliveries: counterOf('deliveries'), mismatches: counterOf('mismatches') },
}

/** What is left of an event that was erased. */
export const ERASED: Document = { ...KEY_ONLY, reason: 'erased' }

/** What a record holds in place of the body and the headers that were removed; `BODY_ELSEWHERE` is to be removed too. */
export const WITHOUT_BODY: Document = { raw: { $literal: new Binary(Buffer.alloc(0)) }, headers: { $literal: {} } }

/** The other fields of the body. */
export const BODY_ELSEWHERE = ['query', 'bodyId', 'sealed']

/** Matches records with everything that they were stored with. */
export const IS_COMPLETE: Document = { type: { $exists: true } }

const GONE = {
  ...{ type: '', objectId: '', orderId: '', facts: {}, raw: new Binary(Buffer.alloc(0)), headers: {}, secretId: '' },
  ...{ requestId: '', starts: 0, lost: 0, failures: 0, fence: 0, attempts: [], lastError: null, outcome: null },
}

/** A record as the others are, with empty values for what has expired. */
export function withGone<T extends Partial<EventDocument>>(record: T): T {
  return { ...GONE, ...record }
}
