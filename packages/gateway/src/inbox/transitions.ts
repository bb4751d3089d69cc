import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import type { Document, ObjectId } from 'mongodb'
import { attempted, failed } from './claims/attempt-fields.ts'
import type { AttemptResult, NoEffectReason, Settlement } from './claims/claim.ts'
import { resumedAt } from './claims/failing-time.ts'
import { countLoss } from './claims/takeover/count-loss.ts'
import type { EventDocument } from './event-document.ts'
import { counterOf, raised } from './record-expressions.ts'
import { bodyMsOf, datesOfDead, datesOfEnding, type Retention } from './retention/retention.ts'

/*
 * All changes of an event's state. Nothing else writes a state: `test/architecture.test.ts` enforces it.
 *
 *   (insert)   -> unhandled | pending | processing    insertUnhandled, insertPending, insertClaimed
 *   pending    -> processing                          claimRecord
 *   processing -> processing                          claimRecord, after its holder has died
 *   pending    -> pending                             postpone, while it waits for a provider or in line; wake, after it
 *   processing -> done | unhandled | dead | pending   settle
 *   processing -> pending                             release, releaseFromHolder, releaseFromDead
 *   processing -> dead                                failPoisoned
 *   dead       -> pending                             requeueDead, after a redelivery
 *   any        -> pending                             makeDueAgain, by a replay; insertBackfilled, for another handler
 *   unhandled  -> unhandled                           leaveUnhandled, by a replay if still nobody wants it
 *   dead       -> closed                              close
 *   pending    -> unhandled                           discard, if its handler was removed; also of a dead one
 *   settled    -> done, with its key only             keyOnly; also of a copy of what was erased, in any state
 *   (insert)   -> done, with its key only             insertErased, before such a copy
 *
 * A function returns the fields of an insert, or the stages of an update. The filter belongs to the sender. It names
 * the state, and for a claim the fence, that the record must still have. All times are those of the database.
 */

/** The fields with which a process holds a record. */
const HOLD = ['leaseOwner', 'claimedAt', 'claim', 'begun']
/**
 * The fields that count towards marking an event as dead because it causes failures and deaths. They last until it gets
 * a result or is replayed.
 */
const SUSPICION = ['failedCalls', 'internalErrors', 'losses']
const NEWEST_REPLAYS = 50

/** The fields of a new record that depend on its state. */
export type NewState = Pick<EventDocument, 'state' | 'reason' | 'starts' | 'fence'> &
  Partial<Pick<EventDocument, 'leaseOwner' | 'dueAt' | 'settledAt' | 'expireAt' | 'stripAt'>>

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
  return { state: 'unhandled', reason, starts: 0, fence: 0, settledAt: receivedAt, ...dates }
}

/** Inserts an event for any process. `dueAt`: now, or the due time of the pause of its provider. */
export function insertPending(dueAt: Date): NewState {
  return { ...UNTRIED, dueAt }
}

const UNTRIED = { state: 'pending', reason: null, starts: 0, fence: 0 } as const

/** Inserts an event that is claimed on insert. */
export function insertClaimed(owner: string): NewState {
  return { state: 'processing', reason: null, starts: 1, fence: 1, leaseOwner: owner }
}

/** A new claim of one process. `claimId` names it, so that the process can read what it claimed. */
interface NewClaim {
  readonly owner: string
  readonly claimId: string
  /** For how long this process can have sent the record. */
  readonly activeForMs: number
}

/** Claims a record. If another process held it, that loss may count towards marking the record as dead. */
export function claimRecord({ owner, claimId, activeForMs }: NewClaim): Document[] {
  return [
    {
      $set: {
        ...countLoss(owner),
        resumedAt: resumedAt(activeForMs),
        starts: raised('starts'),
        fence: raised('fence'),
        state: 'processing',
        leaseOwner: owner,
        claimedAt: '$$NOW',
        claim: claimId,
      },
    },
    { $unset: ['dueAt', 'begun'] },
  ]
}

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
export function release(failedCalls: number): Document[] {
  const suspicion = failedCalls > 0 ? { failedCalls } : {}
  return [{ $set: { state: 'pending', dueAt: '$$NOW', ...suspicion } }, { $unset: HOLD }]
}

/** Takes a record from its holder, which lives or may live: no loss. The raised fence drops later writes of the holder. */
export function releaseFromHolder(): Document[] {
  return [{ $set: FREED }, { $unset: HOLD }]
}

/** Takes a record from a holder that has died, on behalf of `owner`. That counts as it does when the record is claimed. */
export function releaseFromDead(owner: string): Document[] {
  return [{ $set: { ...countLoss(owner), ...FREED } }, { $unset: HOLD }]
}

const FREED = { state: 'pending', fence: raised('fence'), dueAt: '$$NOW' }

/** How long settled events are kept, and the longest delay that is ever set for a record, in milliseconds. */
interface SettleRules extends Retention {
  readonly maxDelayMs: number
}

/** Writes the result of an attempt: the record is done, without an effect, dead, or due again. */
export function settle(settlement: Settlement, attempt: AttemptResult, rules: SettleRules): Document[] {
  switch (settlement.state) {
    case 'done': {
      const outcome = { $literal: settlement.outcome }
      const end = { state: 'done', reason: null, outcome, settledAt: '$$NOW', ...datesOfEnding(rules) }
      return [{ $set: { ...attempted(attempt), ...end } }, { $unset: [...HOLD, ...SUSPICION] }]
    }
    case 'unhandled': {
      const { reason } = settlement
      const end = { state: 'unhandled', reason, settledAt: '$$NOW', ...datesOfEnding(rules) }
      return [{ $set: { ...attempted(attempt), ...end } }, { $unset: [...HOLD, ...SUSPICION] }]
    }
    case 'dead': {
      const reason = { $literal: settlement.reason }
      const end = { state: 'dead', reason, settledAt: '$$NOW', ...datesOfDead(rules) }
      return [
        { $set: { ...attempted(attempt), ...failed(attempt, rules.maxDelayMs), ...end } },
        { $unset: [...HOLD, 'losses'] },
      ]
    }
    case 'pending': {
      const { delayMs, failedCalls = 0, internalErrors = 0 } = settlement
      const suspicion = {
        ...(failedCalls > 0 ? { failedCalls } : {}),
        ...(internalErrors > 0 ? { internalErrors } : {}),
      }
      const due = { ...suspicion, state: 'pending', dueAt: fromNow(delayMs) }
      return [
        { $unset: [...HOLD, ...SUSPICION] },
        { $set: { ...attempted(attempt), ...failed(attempt, rules.maxDelayMs), ...due } },
      ]
    }
  }
}

const POISONED = 'worker_died'

/** Marks a record as dead whose processes died repeatedly without a result, because it may be the cause. */
export function failPoisoned(retention: Retention): Document[] {
  const lastError = { code: POISONED, message: 'Its worker processes died repeatedly before any result', at: '$$NOW' }
  const dead = { state: 'dead', reason: POISONED, lastError, settledAt: '$$NOW', ...datesOfDead(retention) }
  return [{ $set: dead }, { $unset: [...HOLD, 'losses'] }]
}

/**
 * The update stage that gives a dead event one more attempt, with the fields that the current settings read from its body.
 * No limit starts again: neither the count of crashes, nor the time since its first failure, nor the time since its
 * order was first unknown. So redeliveries cannot keep an event alive. A record that is not dead stays as it is.
 */
export function requeueDead({ type, objectId, facts: { orderId, ...facts } }: WebhookEvent): Document {
  const change = {
    ...literals({ type, objectId, orderId, facts }),
    state: 'pending',
    reason: null,
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
    { $unset: ['firstFailedAt', 'orderUnknownSince', 'settledAt', 'expireAt', 'stripAt', 'closed', ...SUSPICION] },
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

/** Settles a task whose handler was removed. The raised fence drops later writes of an earlier holder. */
export function discard(retention: Retention): Document[] {
  const end = { state: 'unhandled', reason: 'handler_removed', fence: raised('fence'), settledAt: '$$NOW' }
  return [{ $set: { ...end, ...datesOfEnding(retention) } }, { $unset: [...HOLD, ...SUSPICION, 'dueAt'] }]
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
