import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { ObjectId, Timestamp } from 'mongodb'
import type { EventDocument } from '../event-document.ts'
import { NO_BODY, storeEvidence } from '../evidence-encryption.ts'

/** What a task gets besides the evidence of its event. */
export interface CopyOptions {
  readonly handler: string
  /** The line in which it is, if any. Its place is that of the receipt of the event. */
  readonly line?: string | undefined
  /** The fields that the current settings read from the body. */
  readonly members: Partial<Pick<EventDocument, 'type' | 'objectId' | 'orderId' | 'facts'>>
  readonly encryption: Encryption
}

/** The fields of a task of a stored event, without its state. The record has its body and headers in plaintext. */
export function copyAsTask(record: EventDocument, { handler, line, members, encryption }: CopyOptions): object {
  const { provider, eventId, type, objectId, orderId, facts, receivedAt, bodyHash, bodyId } = record
  const { secretId, requestId, keepKey, headers, query = '' } = record
  const _id = new ObjectId()
  const raw = bodyId === undefined ? record.raw : NO_BODY
  return {
    ...{ _id, provider, eventId, handler },
    ...{ type, objectId, orderId, facts, receivedAt, bodyHash, secretId, requestId, ...members },
    ...(line === undefined ? {} : { line, lineAt: timestampOf(receivedAt) }),
    ...(bodyId === undefined ? {} : { bodyId }),
    ...storeEvidence(_id, { raw, headers, query }, encryption),
    ...(keepKey === true ? { keepKey } : {}),
    ...{ lost: 0, failures: 0, attempts: [], lastError: null, outcome: null, deliveries: 1, mismatches: 0 },
  }
}

const SECOND_MS = 1_000

function timestampOf(date: Date): Timestamp {
  const ms = date.getTime()
  return new Timestamp({ t: Math.floor(ms / SECOND_MS), i: ms % SECOND_MS })
}
