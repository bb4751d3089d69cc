import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import type { Document, ObjectId } from 'mongodb'
import type { AttemptResult, NoEffectReason, Settlement } from './claims/claim.ts'
import { type EventDocument, FULFILMENT } from './event-document.ts'
import { counterOf, listOf, raised } from './record-expressions.ts'
import { bodyMsOf, datesOfDead, datesOfEnding, type Retention } from './retention/retention.ts'

/*
 * All changes of an event's state. Nothing else writes a state: `test/architecture.test.ts` enforces it.
 *
 *   (insert)   -> unhandled | pending | processing    insertUnhandled, insertPending, insertClaimed
 *   pending    -> processing                          claimDue; suspect, if it was lost before
 *   processing -> processing                          takeOver, when its claim has ended; releaseSuspect; settle, as a suspect
 *   pending    -> pending                             postpone, while it waits for a provider or in line; wake, after it
 *   processing -> done | unhandled | dead | pending   settle
 *   processing -> pending                             release, postponeSuspect
 *   processing -> dead                                bury, after too many losses
 *   dead       -> pending                             requeueDead, after a redelivery
 *   any        -> pending                             makeDueAgain, by a replay; insertBackfilled, for another handler
 *   dead       -> closed                              close
 *   pending    -> unhandled                           discard, if its handler was removed; also a dead one, or one whose claim has ended
 *   settled    -> done, with its key only             keyOnly; also of a copy of what was erased, in any state
 *   (insert)   -> done, with its key only             insertErased, before such a copy
 *
 * A function returns the fields of an insert, or the stages of an update. The filter belongs to the sender. It names
 * the state, and of a processing record the claim or that its time has ended. Every transition but a claim removes the name
 * of the claim, so that a later write of its holder changes nothing. All times are those of the database.
 *
 * A suspect stays in the state `processing` without a claim: its holder has died, or its call broke. It stays one while its next
 * calls get no answer. Searches for due records do not see it, and suspects are taken over a few at a time.
 */

const NEWEST_ATTEMPTS = 50
const NEWEST_REPLAYS = 50

/** The fields of a new record that depend on its state. */
export type NewState = Pick<EventDocument, 'state' | 'reason' | 'starts'> &
  Partial<Pick<EventDocument, 'claim' | 'dueAt' | 'settledAt' | 'expireAt' | 'stripAt'>>

/** When an event was received, and how long it is kept. */
interface Receipt {
  readonly receivedAt: Date
  /** If not, the key of the record must stay. */
  readonly signsTime: boolean
  readonly retention: Retention
}

/** Inserts an event without an effect. It is settled at once. */
export function insertUnhandled(reason: NoEffectReason, { receivedAt, signsTime, retention }: Receipt): NewState {
  const bodyMs = bodyMsOf(retention)
  const stripAt = new Date(receivedAt.getTime() + bodyMs)
  const expireAt = new Date(receivedAt.getTime() + retention.retentionMs)
  const dates = signsTime ? { expireAt, ...(bodyMs < retention.retentionMs ? { stripAt } : {}) } : { stripAt }
  return { state: 'unhandled', reason, starts: 0, settledAt: receivedAt, ...dates }
}

/** Inserts an event for any process. `dueAt`: now, or the due time of the pause of its provider. */
export function insertPending(dueAt: Date): NewState {
  return { ...UNTRIED, dueAt }
}

const UNTRIED = { state: 'pending', reason: null, starts: 0 } as const

/** Inserts an event that is claimed on insert, until `dueAt`. */
export function insertClaimed(claim: string, dueAt: Date): NewState {
  return { state: 'processing', reason: null, starts: 1, claim, dueAt }
}

/** A new claim: its random name, and how long it lasts, in milliseconds. */
export interface NewClaim {
  readonly claim: string
  readonly lastsMs: number
}

/** Claims a pending record. */
export function claimDue({ claim, lastsMs }: NewClaim): Document[] {
  return [{ $set: { starts: raised('starts'), state: 'processing', claim, dueAt: fromNow(lastsMs) } }]
}

/** Makes a due record that was lost before a suspect again. */
export function suspect(): Document[] {
  return [{ $set: { state: 'processing', dueAt: '$$NOW' } }]
}

/**
 * Claims a record whose claim has ended, or whose call broke, and counts its loss. What does not count yet may count later.
 * `verdictAt`: see `lossesThen`.
 */
export function takeOver(claim: NewClaim, verdictAt: Date | null): Document[] {
  const brokeAt = { $cond: [isLoss(verdictAt), '$$REMOVE', '$brokeAt'] }
  return [{ $set: { lost: lossesThen(verdictAt), brokeAt } }, ...claimDue(claim)]
}

/**
 * The losses of a record that is taken over. A claim that nobody gave back is a loss: its process died, or slept. A broken
 * call is one only if the handler has given a verdict on another task since, at `verdictAt`: otherwise that was an outage, which
 * is nobody's fault.
 */
export function lossesThen(verdictAt: Date | null): Document {
  return { $cond: [isLoss(verdictAt), raised('lost'), counterOf('lost')] }
}

function isLoss(verdictAt: Date | null): Document {
  const wasHeld = { $eq: [{ $type: '$claim' }, 'string'] }
  return verdictAt === null ? wasHeld : { $or: [wasHeld, { $and: [BROKE, { $lt: ['$brokeAt', verdictAt] }] }] }
}

const BROKE = { $eq: [{ $type: '$brokeAt' }, 'date'] }

/**
 * Leaves a due record out of all searches while its provider is paused, or while it waits in line. `dueAt` is the due time of
 * that pause, or of all who wait in line.
 */
export function postpone(dueAt: Date): Document[] {
  return [{ $set: { dueAt } }]
}

/** Makes a task due that waited in line. */
export function wake(): Document[] {
  return [{ $set: { dueAt: '$$NOW' } }]
}

/** Releases a record without an attempt. It is due at once, and nothing counts for or against it. */
export function release(): Document[] {
  return [{ $set: { state: 'pending', dueAt: '$$NOW' } }, { $unset: ['claim', 'brokeAt'] }]
}

/** Releases a suspect without an attempt. It stays one. */
export function releaseSuspect(): Document[] {
  return [{ $set: { dueAt: '$$NOW' } }, { $unset: 'claim' }]
}

/** Lets a suspect wait for its provider as pending. Its losses stay. */
export function postponeSuspect(dueAt: Date): Document[] {
  return [{ $set: { lost: lossesThen(null) } }, { $set: { state: 'pending', dueAt } }, { $unset: ['claim', 'brokeAt'] }]
}

/** Writes the result of an attempt: the record is done, without an effect, dead, or due again, perhaps as a suspect. */
export function settle(settlement: Settlement, attempt: AttemptResult, retention: Retention): Document[] {
  const ended = { ...attempted(attempt), reason: null, settledAt: '$$NOW' }
  const unset = { $unset: ['claim', 'dueAt', 'brokeAt', 'waitedFor'] }
  switch (settlement.state) {
    case 'done': {
      const outcome = { $literal: settlement.outcome }
      return [{ $set: { ...ended, state: 'done', lost: 0, outcome, ...datesOfEnding(retention) } }, unset]
    }
    case 'unhandled': {
      const { reason } = settlement
      return [{ $set: { ...ended, state: 'unhandled', lost: 0, reason, ...datesOfEnding(retention) } }, unset]
    }
    case 'dead': {
      const reason = { $literal: settlement.reason }
      const end = { state: 'dead', reason, ...datesOfDead(retention) }
      return [{ $set: { ...ended, ...failed(attempt), lost: 0, ...end } }, { $unset: ['claim', 'dueAt', 'brokeAt'] }]
    }
    case 'pending': {
      const { delayMs, waited, waitedFor, broke } = settlement
      const waits = { waited, waitedFor: { $literal: waitedFor }, dueAt: fromNow(delayMs) }
      const next = { ...attempted(attempt), ...failed(attempt), ...waits, ...suspicionAfter(broke) }
      return [{ $set: next }, { $unset: 'claim' }]
    }
  }
}

/** An answer clears a suspect. Without one, nothing is known, and a suspect stays one: its handler may not have started again. */
function suspicionAfter(broke: Date | false | undefined): Document {
  if (broke === undefined) return { state: 'pending', lost: 0, brokeAt: '$$REMOVE' }
  if (broke !== false) return { state: 'processing', brokeAt: broke }
  return { state: { $cond: [{ $or: [{ $gt: [counterOf('lost'), 0] }, BROKE] }, 'processing', 'pending'] } }
}

/** The newest 50 attempts stay. */
function attempted({ ms, outcome, code, message }: AttemptResult): Document {
  // Texts from outside are passed as literals. Otherwise a text that begins with $ would be read as a field path.
  const entry = { $literal: { ms, outcome, code, message } }
  const attempts = { $concatArrays: [listOf('attempts'), [{ $mergeObjects: [{ at: '$$NOW' }, entry] }]] }
  return { attempts: { $slice: [attempts, -NEWEST_ATTEMPTS] } }
}

function failed({ outcome, code, message }: AttemptResult): Document {
  const error = { $literal: { code: code ?? outcome, message: message ?? '' } }
  return { lastError: { $mergeObjects: [error, { at: '$$NOW' }] }, failures: raised('failures') }
}

const LOSSES = 'Its claims ended without a result too many times in a row: it may be the cause'

/** Marks a record as dead that was lost too many times in a row, with the cause of its last loss. */
export function bury(handler: string, retention: Retention): Document[] {
  const callBroke = handler === FULFILMENT ? 'fulfilment_failed' : 'handler_failed'
  const reason = { $cond: [{ $eq: [{ $type: '$claim' }, 'string'] }, 'worker_died', callBroke] }
  const lastError = { code: '$reason', message: LOSSES, at: '$$NOW' }
  return [
    { $set: { state: 'dead', reason, settledAt: '$$NOW', ...datesOfDead(retention) } },
    { $set: { lastError } },
    { $unset: ['claim', 'dueAt', 'brokeAt'] },
  ]
}

/**
 * The update stage that gives a dead event one more attempt, with the fields that the current settings read from its body.
 * No limit starts again: neither the sums of the waits, nor the count of losses, which has room for one attempt. So redeliveries
 * cannot keep an event alive. A record that is not dead stays as it is.
 */
export function requeueDead(event: WebhookEvent, maxCrashes: number): Document {
  const {
    type,
    objectId,
    facts: { orderId, ...facts },
  } = event
  const change = {
    ...literals({ type, objectId, orderId, facts }),
    state: 'pending',
    reason: null,
    lost: { $min: [counterOf('lost'), maxCrashes - 1] },
    failures: 0,
    revivals: raised('revivals'),
    dueAt: '$$NOW',
    dueAgainAt: '$$NOW',
    settledAt: '$$REMOVE',
    stripAt: '$$REMOVE',
  }
  const whenDead = ([name, value]: [string, unknown]): [string, object] => [
    name,
    { $cond: [{ $eq: ['$state', 'dead'] }, value, `$${name}`] },
  ]
  return { $set: Object.fromEntries(Object.entries(change).map(whenDead)) }
}

/** The replay that makes an event due again, as stored in the record. */
interface ReplayEntry {
  readonly id: ObjectId
  readonly by: string
  readonly reason: string
  readonly notRead?: string
}

/** Makes an event due again, with the fields that the current settings read from its body. Its limits start again. */
export function makeDueAgain(entry: ReplayEntry, remapped: object): Document[] {
  return [
    {
      $set: {
        ...literals(remapped),
        state: 'pending',
        reason: null,
        lost: 0,
        failures: 0,
        dueAt: '$$NOW',
        dueAgainAt: '$$NOW',
        replays: withReplay(entry),
      },
    },
    { $unset: ['claim', 'brokeAt', 'waited', 'waitedFor', 'settledAt', 'expireAt', 'stripAt', 'closed'] },
  ]
}

/** Leaves a replayed event settled, because nobody wants it by the current settings either. */
export function leaveUnhandled(entry: ReplayEntry, remapped: object): Document[] {
  return [{ $set: { ...literals(remapped), replays: withReplay(entry) } }]
}

function withReplay(entry: ReplayEntry): Document {
  const added = { $mergeObjects: [{ at: '$$NOW' }, { $literal: entry }] }
  return { $slice: [{ $concatArrays: [{ $ifNull: ['$replays', []] }, [added]] }, -NEWEST_REPLAYS] }
}

/**
 * Inserts a task of an event that was stored before, and is due at once. `task` has everything but its state. A task that
 * there is stays as it is.
 */
export function insertBackfilled(task: object, entry: ReplayEntry): Document[] {
  const replays = [{ $mergeObjects: [{ at: '$$NOW' }, { $literal: entry }] }]
  const due = { dueAt: '$$NOW', dueAgainAt: '$$NOW', replays }
  return unlessThere({ $mergeObjects: [{ $literal: { ...task, ...UNTRIED } }, due] })
}

function literals(values: object): Document {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { $literal: value }]))
}

/** Settles a task whose handler was removed. */
export function discard(retention: Retention): Document[] {
  const end = { state: 'unhandled', reason: 'handler_removed', settledAt: '$$NOW' }
  return [{ $set: { ...end, ...datesOfEnding(retention) } }, { $unset: ['dueAt', 'claim', 'brokeAt'] }]
}

/** Who closes an event and why, and how long it is kept from then on. */
export interface Closing {
  readonly by: string
  readonly reason: string
  readonly retention: Retention
}

/** Closes a dead event. Only a replay that names it makes it due again. */
export function close({ by, reason, retention }: Closing): Document[] {
  const closed = { $mergeObjects: [{ at: '$$NOW' }, { $literal: { by, reason } }] }
  return [{ $set: { state: 'closed', closed, stripAt: fromNow(bodyMsOf(retention)) } }]
}

/**
 * What is left of a record that has expired or was erased, but whose key must stay. It is enough to answer a copy with
 * 200 and to detect a copy with another body, and it starts nothing. As `done` it is in no index of a state.
 */
export function keyOnly(reason: 'expired' | 'erased'): Document {
  return {
    ...{ _id: '$_id', provider: '$provider', eventId: '$eventId' },
    ...{ bodyHash: '$bodyHash', receivedAt: '$receivedAt' },
    ...{ state: 'done', reason, deliveries: counterOf('deliveries'), mismatches: counterOf('mismatches') },
    ...{ test: '$test', handler: '$handler' },
  }
}

/** Inserts the key of a task whose event was erased, so that no backfill inserts it. A task that there is stays as it is. */
export function insertErased(key: Pick<EventDocument, 'bodyHash' | 'receivedAt'>): Document[] {
  const members = { ...key, state: 'done', reason: 'erased', deliveries: 1, mismatches: 0 }
  return unlessThere({ $mergeObjects: ['$$ROOT', { $literal: members }] })
}

function unlessThere(added: Document): Document[] {
  return [{ $replaceWith: { $cond: [{ $eq: [{ $type: '$state' }, 'missing'] }, added, '$$ROOT'] } }]
}
