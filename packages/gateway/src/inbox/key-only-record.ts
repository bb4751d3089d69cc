import { counterOf } from '@oncehook/queue/expressions'
import { keyOnly } from '@oncehook/queue/transitions'
import { Binary, type Document } from 'mongodb'
import type { EventDocument } from './event-document.ts'

/** The fields of a record after its body and headers were removed. `BODY_ELSEWHERE` must be removed too. */
export const WITHOUT_BODY: Document = { raw: { $literal: new Binary(Buffer.alloc(0)) }, headers: { $literal: {} } }

export const BODY_ELSEWHERE = ['query', 'bodyId', 'sealed']

/** Matches records that still have everything they were stored with. */
export const IS_COMPLETE: Document = { type: { $exists: true } }

/**
 * What is left of a record that has expired or was erased, but whose key must stay. It is enough to answer a copy with
 * 200 and to detect a copy with another body, and it starts nothing.
 */
export function keyOnlyRecord(reason: 'expired' | 'erased'): Document {
  const counts = { deliveries: counterOf('deliveries'), mismatches: counterOf('mismatches') }
  return keyOnly(reason, { bodyHash: '$bodyHash', receivedAt: '$receivedAt', ...counts, test: '$test' })
}

const GONE = {
  ...{ type: '', objectId: '', orderId: '', facts: {}, raw: new Binary(Buffer.alloc(0)), headers: {}, secretId: '' },
  ...{ requestId: '', starts: 0, lost: 0, attempts: [] },
}

export function withGone<T extends Partial<EventDocument>>(record: T): T {
  return { ...GONE, ...record }
}
