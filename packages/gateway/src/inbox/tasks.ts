import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import type { TaskWish } from '@oncehook/queue/order/turns'
import { insertClaimed, insertPending, insertUnhandled, type NewState } from '@oncehook/queue/transitions'
import { unhandledReason } from '@oncehook/webhooks/providers'
import { Binary, ObjectId, Timestamp } from 'mongodb'
import type { StoredBody } from './bodies.ts'
import { type EventDocument, FULFILMENT, NOBODY } from './event-document.ts'
import { NO_BODY, storeEvidence } from './evidence-encryption.ts'
import type { Arrival, InboxDeps, Recorded, Task } from './inbox.ts'
import { datesOfInsert } from './retention/retention.ts'

export function createRecord(deps: InboxDeps, task: Task, body: StoredBody): EventDocument {
  const { arrival, handler } = task
  const { event } = arrival
  const { orderId, ...facts } = event.facts
  const _id = new ObjectId()
  const raw = body.id === undefined ? new Binary(arrival.rawBody) : NO_BODY
  return {
    _id,
    provider: arrival.provider,
    eventId: event.id,
    handler,
    // The server replaces an empty timestamp by the cluster time.
    ...(task.line === undefined ? {} : { line: task.line, lineAt: new Timestamp({ t: 0, i: 0 }) }),
    type: event.type,
    objectId: event.objectId ?? '',
    orderId,
    facts,
    receivedAt: arrival.receivedAt,
    bodyHash: body.hash,
    ...(body.id === undefined ? {} : { bodyId: body.id }),
    ...storeEvidence(_id, { raw, headers: arrival.headers, query: arrival.query }, deps.encryption),
    secretId: arrival.secretId,
    requestId: arrival.requestId,
    ...(arrival.signsTime ? {} : { keepKey: true }),
    ...newState(deps, task),
    ...deps.tests?.mark,
    lost: 0,
    attempts: [],
    deliveries: 1,
    mismatches: 0,
  }
}

function newState(deps: InboxDeps, task: Task): Partial<EventDocument> & NewState {
  const { arrival, handler, line } = task
  const { provider, event, receivedAt, signsTime } = arrival
  const reason = deps.tests?.reason ?? (handler === NOBODY ? unhandledReason(event) : null)
  if (reason !== null) {
    return { ...insertUnhandled(reason, receivedAt), ...datesOfInsert(receivedAt, signsTime, deps) }
  }
  const pausedDueAt = deps.paused().get(provider)
  if (pausedDueAt !== undefined) return insertPending(pausedDueAt)
  // Whether it is the first of its line can only be known after it is stored.
  const taker = line === undefined ? deps.takerOf(handler) : undefined
  const now = deps.databaseNow()
  return taker?.admits() === true
    ? insertClaimed(deps.owner, new Date(now + taker.lastsMs))
    : insertPending(new Date(now))
}

/**
 * The tasks of an arrival: one for fulfilment if it wants the event, and one for each handler that does; else one for nobody.
 * A test event without effect is sent to none of them, but it has their keys: a copy that is delivered has no effect.
 */
export function splitArrival({ tests }: InboxDeps, arrival: Arrival): readonly Task[] {
  const { wantedBy = [], event } = arrival
  const isForFulfilment = tests?.reason === 'test' || unhandledReason(event) === null
  const own = isForFulfilment ? [{ handler: FULFILMENT }] : []
  const wanted = [...own, ...wantedBy.map(toTask)]
  if (wanted.length === 0) return [{ arrival, handler: NOBODY }]
  return wanted.map((task, at) => ({ arrival, ...task, isFurther: at > 0 }))
}

export function toTask(wish: TaskWish): Pick<Task, 'handler' | 'line'> {
  return typeof wish === 'string' ? { handler: wish } : wish
}

/** The outcome of an event, from those of its tasks: it is stored if all of them are, and new if any of them is. */
export function joinOutcomes(outcomes: readonly Recorded[]): Recorded {
  if (outcomes.length === 0 || outcomes.includes('not_stored')) return 'not_stored'
  return outcomes.includes('recorded') ? 'recorded' : 'duplicate'
}

interface CopyOptions {
  readonly handler: string
  /** The line in which it is, if any. Its place is that of the receipt of the event. */
  readonly line?: string | undefined
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
    ...{ lost: 0, attempts: [], deliveries: 1, mismatches: 0 },
  }
}

const SECOND_MS = 1_000

function timestampOf(date: Date): Timestamp {
  const ms = date.getTime()
  return new Timestamp({ t: Math.floor(ms / SECOND_MS), i: ms % SECOND_MS })
}
