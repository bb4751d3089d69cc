import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import type { Document } from 'mongodb'
import { counterOf, listOf, raised } from './expressions.ts'
import { BLOCKS_LINE_DUE_AT, type ReplayEntry, type TaskDocument } from './task.ts'

/*
 * All changes of a task's state. Nothing else writes a state: `test/architecture.test.ts` enforces it.
 *
 *   (insert)   -> unhandled | pending | processing    insertUnhandled, insertPending, insertClaimed
 *   pending    -> processing                          claimDue; suspect, if it was lost before
 *   processing -> processing                          takeOver, when its claim has ended; releaseSuspect; settle, as a suspect
 *   pending    -> pending                             postpone, while it waits for a provider or in line; wake, after it
 *   processing -> done | unhandled | dead | pending   settle
 *   processing -> pending                             release, postponeSuspect
 *   processing -> dead                                bury, after too many losses
 *   dead       -> dead                                unblock, so that its line goes on
 *   dead       -> pending                             requeueDead, after a redelivery
 *   any        -> pending                             makeDueAgain, by a replay; insertBackfilled, for another handler
 *   dead       -> closed                              close
 *   pending    -> unhandled                           discard, if its handler was removed; also a dead one, or one whose claim has ended
 *   settled    -> done, with its key only             keyOnly
 *
 * A function returns the fields of an insert, or the stages of an update. The filter belongs to the sender. It names
 * the state, and of a processing record the claim or that its time has ended. Every transition but a claim removes the name
 * of the claim, so that a later write of its holder changes nothing. All times are those of the database. What the owner of the
 * queue adds (dates of removal, what it has read anew) comes in as fields.
 *
 * A suspect stays in the state `processing` without a claim: its holder has died, or its call broke. It stays one while its next
 * calls get no answer. Searches for due records do not see it, and suspects are taken over a few at a time.
 */

const NEWEST_ATTEMPTS = 50
const NEWEST_REPLAYS = 50

export type NewState = Pick<TaskDocument, 'state' | 'reason' | 'starts'> &
  Partial<Pick<TaskDocument, 'claim' | 'dueAt' | 'settledAt'>>

export interface AttemptResult {
  readonly ms: number
  readonly outcome: string
  readonly code: string | null
  readonly message: string | null
}

/** The result of an attempt for the task: settled permanently, due again after `delayMs`, or dead with a reason. */
export type Settlement =
  | { readonly state: 'done'; readonly outcome: { readonly kind: string; readonly version: number | null } }
  | {
      readonly state: 'pending'
      readonly delayMs: number
      readonly waited: number
      readonly waitedFor: { readonly code: string; readonly ms: number }
      /**
       * Present if its call got no answer, and nothing is known about it: whether the call broke, so that it may be the cause and
       * becomes a suspect. If not, it never reached the handler, or the call before it had failed, too. A suspect stays one.
       */
      readonly broke?: Date | false
    }
  | { readonly state: 'dead'; readonly reason: string }
  | { readonly state: 'unhandled'; readonly reason: string }

/** Fields that the owner of the queue adds when a task ends (done, unhandled or discarded), and when it becomes dead. */
export interface EndFields {
  readonly ended: Document
  readonly dead: Document
}

export function insertUnhandled(reason: string, settledAt: Date): NewState {
  return { state: 'unhandled', reason, starts: 0, settledAt }
}

/** Inserts a task for any process. `dueAt`: now, or the due time of the pause of its provider. */
export function insertPending(dueAt: Date): NewState {
  return { ...UNTRIED, dueAt }
}

const UNTRIED = { state: 'pending', reason: null, starts: 0 } as const

/** Inserts a task that is claimed on insert, until `dueAt`. */
export function insertClaimed(claim: string, dueAt: Date): NewState {
  return { state: 'processing', reason: null, starts: 1, claim, dueAt }
}

/** A new claim: its random name, and how long it lasts, in milliseconds. */
export interface NewClaim {
  readonly claim: string
  readonly lastsMs: number
}

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

/** `dueAt` is the due time of a pause, or of all who wait in line: searches skip it. */
export function postpone(dueAt: Date): Document[] {
  return [{ $set: { dueAt } }]
}

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
export function settle(settlement: Settlement, attempt: AttemptResult, end: EndFields): Document[] {
  const ended = { reason: null, settledAt: '$$NOW' }
  const unset = { $unset: ['claim', 'dueAt', 'brokeAt', 'failing'] }
  switch (settlement.state) {
    case 'done': {
      const { version } = settlement.outcome
      const tried = attempted(version === null ? attempt : { ...attempt, version })
      return [{ $set: { ...ended, ...tried, state: 'done', lost: 0, ...end.ended } }, unset]
    }
    case 'unhandled': {
      const reason = { $literal: settlement.reason }
      return [{ $set: { ...ended, ...attempted(attempt), state: 'unhandled', lost: 0, reason, ...end.ended } }, unset]
    }
    case 'dead': {
      const reason = { $literal: settlement.reason }
      const dead = { state: 'dead', lost: 0, reason, dueAt: BLOCKS, ...end.dead }
      return [{ $set: { ...ended, ...failed(attempt), ...dead } }, { $unset: ['claim', 'brokeAt'] }]
    }
    case 'pending': {
      const { delayMs, waited, waitedFor, broke } = settlement
      const { code, ms } = waitedFor
      const waits = { 'failing.waitedMs': waited, 'failing.code': { $literal: code }, 'failing.codeMs': ms }
      const next = { ...failed(attempt), ...waits, dueAt: fromNow(delayMs), ...suspicionAfter(broke) }
      return [{ $set: next }, { $unset: 'claim' }]
    }
  }
}

// A dead task in a line blocks it, until its handler says that it does not.
const BLOCKS: Document = { $cond: [{ $eq: [{ $type: '$line' }, 'string'] }, BLOCKS_LINE_DUE_AT, '$$REMOVE'] }

/** Lets the line of a dead task go on. */
export function unblock(): Document[] {
  return [{ $unset: 'dueAt' }]
}

/** An answer clears a suspect. Without one, nothing is known, and a suspect stays one: its handler may not have started again. */
function suspicionAfter(broke: Date | false | undefined): Document {
  if (broke === undefined) return { state: 'pending', lost: 0, brokeAt: '$$REMOVE' }
  if (broke !== false) return { state: 'processing', brokeAt: broke }
  return { state: { $cond: [{ $or: [{ $gt: [counterOf('lost'), 0] }, BROKE] }, 'processing', 'pending'] } }
}

function attempted(attempt: AttemptResult & { readonly version?: number }): Document {
  // Texts from outside are passed as literals. Otherwise a text that begins with $ would be read as a field path.
  return withAttempt({ $literal: attempt })
}

function withAttempt(attempt: Document): Document {
  const entry = { $mergeObjects: [{ at: '$$NOW' }, attempt] }
  return { attempts: { $slice: [{ $concatArrays: [listOf('attempts'), [entry]] }, -NEWEST_ATTEMPTS] } }
}

function failed({ code, outcome, ...rest }: AttemptResult): Document {
  return { ...attempted({ ...rest, outcome, code: code ?? outcome }), 'failing.times': raised('failing.times') }
}

const LOSSES = 'Its claims ended without a result too many times in a row: it may be the cause'

/** `callBroke`: the reason if its last loss was a broken call. */
export function bury(callBroke: string, end: EndFields): Document[] {
  const reason = { $cond: [{ $eq: [{ $type: '$claim' }, 'string'] }, 'worker_died', { $literal: callBroke }] }
  const attempt = { ms: 0, outcome: 'dead', code: '$reason', message: LOSSES }
  return [
    { $set: { state: 'dead', reason, settledAt: '$$NOW', dueAt: BLOCKS, ...end.dead } },
    { $set: withAttempt(attempt) },
    { $unset: ['claim', 'brokeAt'] },
  ]
}

/**
 * The update stage that gives a dead task one more attempt. `fields`: expressions for what its owner changes with it. No limit
 * starts again: neither the sums of the waits, nor the count of losses, which has room for one attempt. So redeliveries cannot keep
 * a task alive. A record that is not dead stays as it is.
 */
export function requeueDead(fields: Document, maxCrashes: number): Document {
  const change = {
    ...fields,
    state: 'pending',
    reason: null,
    lost: { $min: [counterOf('lost'), maxCrashes - 1] },
    failing: { $mergeObjects: ['$failing', { times: 0 }] },
    dueAt: '$$NOW',
    again: { at: '$$NOW', revivals: raised('again.revivals') },
    settledAt: '$$REMOVE',
  }
  const whenDead = ([name, value]: [string, unknown]): [string, object] => [
    name,
    { $cond: [{ $eq: ['$state', 'dead'] }, value, `$${name}`] },
  ]
  return { $set: Object.fromEntries(Object.entries(change).map(whenDead)) }
}

const AGAIN: Document = {
  $mergeObjects: [{ $cond: [{ $eq: [{ $type: '$again' }, 'object'] }, '$again', {}] }, { at: '$$NOW' }],
}

/** Makes a task due again. Its limits start again. `fields`: expressions for what its owner changes with it. */
export function makeDueAgain(entry: ReplayEntry, fields: Document): Document[] {
  return [
    {
      $set: {
        ...fields,
        state: 'pending',
        reason: null,
        lost: 0,
        dueAt: '$$NOW',
        again: AGAIN,
        replays: withReplay(entry),
      },
    },
    { $unset: ['claim', 'brokeAt', 'failing', 'settledAt', 'closed'] },
  ]
}

/** Leaves a replayed task settled, because nobody wants it by the current settings either. */
export function leaveUnhandled(entry: ReplayEntry, fields: Document): Document[] {
  return [{ $set: { ...fields, replays: withReplay(entry) } }]
}

function withReplay(entry: ReplayEntry): Document {
  const added = { $mergeObjects: [{ at: '$$NOW' }, { $literal: entry }] }
  return { $slice: [{ $concatArrays: [{ $ifNull: ['$replays', []] }, [added]] }, -NEWEST_REPLAYS] }
}

/** `task` has everything but its state. A task that is there stays as it is. */
export function insertBackfilled(task: object, entry: ReplayEntry): Document[] {
  const replays = [{ $mergeObjects: [{ at: '$$NOW' }, { $literal: entry }] }]
  const due = { dueAt: '$$NOW', again: { at: '$$NOW' }, replays }
  const added = { $mergeObjects: [{ $literal: { ...task, ...UNTRIED } }, due] }
  return [{ $replaceWith: { $cond: [{ $eq: [{ $type: '$state' }, 'missing'] }, added, '$$ROOT'] } }]
}

/** Expressions for these values: a text that begins with $ is no field path. */
export function literals(values: object): Document {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { $literal: value }]))
}

export function discard({ ended }: EndFields): Document[] {
  const settled = { state: 'unhandled', reason: 'handler_removed', settledAt: '$$NOW' }
  return [{ $set: { ...settled, ...ended } }, { $unset: ['dueAt', 'claim', 'brokeAt'] }]
}

export interface Closing {
  readonly by: string
  readonly reason: string
}

/** Closes a dead task. Only a replay that names it makes it due again. `fields`: when its owner removes it. */
export function close({ by, reason }: Closing, fields: Document): Document[] {
  const closed = { $mergeObjects: [{ at: '$$NOW' }, { $literal: { by, reason } }] }
  return [{ $set: { state: 'closed', closed, ...fields } }, { $unset: 'dueAt' }]
}

/** The key, and what its owner keeps. As `done` it is in no index of a state. */
export function keyOnly(reason: 'expired' | 'erased', kept: Document): Document {
  const key = { _id: '$_id', provider: '$provider', eventId: '$eventId', handler: '$handler' }
  return { ...key, ...kept, state: 'done', reason }
}
