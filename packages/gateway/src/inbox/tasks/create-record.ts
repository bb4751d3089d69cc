import { unhandledReason } from '@oncehook/webhooks/providers'
import { Binary, ObjectId, Timestamp } from 'mongodb'
import type { ClaimTaker } from '../claims/claim.ts'
import type { EventDocument } from '../event-document.ts'
import { NO_BODY, storeEvidence } from '../evidence-encryption.ts'
import type { Arrival, InboxDeps, StoredBody } from '../inbox.ts'
import { insertClaimed, insertPaused, insertPending, insertUnhandled, type NewState } from '../transitions.ts'

/** The record of an arrival, as it is inserted: its evidence, and the state in which it begins. */
export function createRecord(deps: InboxDeps, arrival: Arrival, body: StoredBody): EventDocument {
  const { event, handler } = arrival
  const { orderId, ...facts } = event.facts
  const receivedAt = new Date(deps.now())
  const _id = new ObjectId()
  const raw = body.id === undefined ? new Binary(arrival.rawBody) : NO_BODY
  return {
    _id,
    provider: arrival.provider,
    eventId: event.id,
    ...(handler === undefined ? {} : { handler }),
    // The server replaces an empty timestamp by the cluster time.
    ...(arrival.line === undefined ? {} : { line: arrival.line, lineAt: new Timestamp({ t: 0, i: 0 }) }),
    type: event.type,
    objectId: event.objectId ?? '',
    orderId,
    facts,
    receivedAt,
    bodyHash: body.hash,
    ...(body.id === undefined ? {} : { bodyId: body.id }),
    ...storeEvidence(_id, { raw, headers: arrival.headers, query: arrival.query }, deps.encryption),
    secretId: arrival.secretId,
    requestId: arrival.requestId,
    ...(arrival.signsTime ? {} : { keepKey: true }),
    ...newState(deps, arrival, receivedAt),
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

function newState(deps: InboxDeps, arrival: Arrival, receivedAt: Date): NewState {
  const { provider, event, signsTime, handler, line } = arrival
  const reason = deps.tests?.reason ?? (handler === undefined ? unhandledReason(event, deps.isHandled) : null)
  if (reason !== null) return insertUnhandled(reason, { receivedAt, signsTime, retention: deps })
  const pausedDueAt = deps.paused().get(provider)
  if (pausedDueAt !== undefined) return insertPaused(pausedDueAt)
  // Whether it is the first of its line can only be known after it is stored.
  if (line !== undefined) return insertPending()
  return takerOf(deps, arrival)?.admits() === true ? insertClaimed(deps.owner) : insertPending()
}

/** Who sends a task. Undefined if its handler is no longer configured: the task then waits. */
export function takerOf(
  { dispatcher, handlers }: InboxDeps,
  { handler }: { readonly handler?: string | undefined },
): ClaimTaker | undefined {
  return handler === undefined ? dispatcher : handlers?.takerOf(handler)
}
