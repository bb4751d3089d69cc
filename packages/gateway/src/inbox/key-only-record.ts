import { Binary, type Document } from 'mongodb'
import type { EventDocument } from './event-document.ts'

/** The fields of a record after its body and headers were removed. `BODY_ELSEWHERE` must be removed too. */
export const WITHOUT_BODY: Document = { raw: { $literal: new Binary(Buffer.alloc(0)) }, headers: { $literal: {} } }

/** The other fields of the body. */
export const BODY_ELSEWHERE = ['query', 'bodyId', 'sealed']

/** Matches records that still have everything they were stored with. */
export const IS_COMPLETE: Document = { type: { $exists: true } }

const GONE = {
  ...{ type: '', objectId: '', orderId: '', facts: {}, raw: new Binary(Buffer.alloc(0)), headers: {}, secretId: '' },
  ...{ requestId: '', starts: 0, lost: 0, failures: 0, attempts: [], lastError: null, outcome: null },
}

/** Completes a record with empty values for the fields that have expired. */
export function withGone<T extends Partial<EventDocument>>(record: T): T {
  return { ...GONE, ...record }
}
