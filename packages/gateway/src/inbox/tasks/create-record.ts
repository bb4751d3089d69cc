import { unhandledReason } from '@oncehook/webhooks/providers'
import { Binary, ObjectId, Timestamp } from 'mongodb'
import type { ClaimTaker } from '../claims/claim.ts'
import { type EventDocument, FULFILMENT, NOBODY } from '../event-document.ts'
import { NO_BODY, storeEvidence } from '../evidence-encryption.ts'
import type { InboxDeps, StoredBody, Task } from '../inbox.ts'
import { insertClaimed, insertPending, insertUnhandled, type NewState } from '../transitions.ts'

/** The record of a task, as it is inserted: its evidence, and the state in which it begins. */
export function createRecord(deps: InboxDeps, task: Task, body: StoredBody): EventDocument {
  const { event, handler } = task
  const { orderId, ...facts } = event.facts
  const receivedAt = new Date(deps.now())
  const _id = new ObjectId()
  const raw = body.id === undefined ? new Binary(task.rawBody) : NO_BODY
  return {
    _id,
    provider: task.provider,
    eventId: event.id,
    handler,
    // The server replaces an empty timestamp by the cluster time.
    ...(task.line === undefined ? {} : { line: task.line, lineAt: new Timestamp({ t: 0, i: 0 }) }),
    type: event.type,
    objectId: event.objectId ?? '',
    orderId,
    facts,
    receivedAt,
    bodyHash: body.hash,
    ...(body.id === undefined ? {} : { bodyId: body.id }),
    ...storeEvidence(_id, { raw, headers: task.headers, query: task.query }, deps.encryption),
    secretId: task.secretId,
    requestId: task.requestId,
    ...(task.signsTime ? {} : { keepKey: true }),
    ...newState(deps, task, receivedAt),
    ...deps.tests?.mark,
    lost: 0,
    failures: 0,
    attempts: [],
    lastError: null,
    outcome: null,
    deliveries: 1,
    mismatches: 0,
  }
}

function newState(deps: InboxDeps, task: Task, receivedAt: Date): NewState {
  const { provider, event, signsTime, handler, line } = task
  const reason = deps.tests?.reason ?? (handler === NOBODY ? unhandledReason(event, deps.isHandled) : null)
  if (reason !== null) return insertUnhandled(reason, { receivedAt, signsTime, retention: deps })
  const pausedDueAt = deps.paused().get(provider)
  if (pausedDueAt !== undefined) return insertPending(pausedDueAt)
  // Whether it is the first of its line can only be known after it is stored.
  const taker = line === undefined ? takerOf(deps, task) : undefined
  const now = deps.databaseNow()
  return taker?.admits() === true
    ? insertClaimed(deps.owner, new Date(now + taker.lastsMs))
    : insertPending(new Date(now))
}

/** Who sends a task. Undefined if its handler is no longer configured: the task then waits. */
export function takerOf(
  { dispatcher, handlers }: InboxDeps,
  { handler }: Pick<Task, 'handler'>,
): ClaimTaker | undefined {
  return handler === FULFILMENT ? dispatcher : handlers?.takerOf(handler)
}
