import { randomUUID } from 'node:crypto'
import { MAJORITY } from '@oncehook/kernel/mongo/mongo-connection'
import type { Db, Document, ObjectId } from 'mongodb'
import type { WebhookEvent } from '../event.ts'
import { EVENTS, type EventDocument } from './event-document.ts'

/** The right to settle a record, until the lease runs out or another claim raises the fence. */
export interface Claim {
  readonly _id: ObjectId
  readonly provider: string
  /** Every later write names it: a claim that was lost changes nothing. */
  readonly fence: number
  /** Claims in a row before this one that ended without a verdict. */
  readonly lost: number
  /** Failed tries since the first failure, and for how long that has been going on. */
  readonly failures: number
  readonly failedForMs: number
  readonly requestId: string
  readonly event: WebhookEvent
}

/** How a try ended, as it is kept with the record. */
export interface AttemptResult {
  readonly ms: number
  readonly outcome: string
  readonly code: string | null
  readonly message: string | null
}

/** What a try leads to: settled for good, put off by `delayMs`, or dead with a reason. */
export type Settlement =
  | { readonly state: 'done'; readonly outcome: { readonly kind: string; readonly version: number | null } }
  | { readonly state: 'pending'; readonly delayMs: number }
  | { readonly state: 'dead'; readonly reason: string }
  | { readonly state: 'unhandled' }

/** A claim with what became of it. */
export interface SettledClaim {
  readonly claim: Claim
  readonly settlement: Settlement
  readonly attempt: AttemptResult
}

/** What the claims work with. Times are milliseconds. */
export interface ClaimsDeps {
  readonly db: Db
  readonly owner: string
  readonly leaseMs: number
  readonly retentionMs: number
  readonly maxStarts: number
}

/** Taking records, keeping them, giving them back: everything by the database's clock, every write fenced. */
export interface Claims {
  /** Takes up to `limit` records that are due, the longest due first. */
  claimDue(limit: number): Promise<Claim[]>
  /** Takes up to `limit` records whose holder's lease has run out; buries those that seem to kill their holders. */
  takeOver(limit: number): Promise<Claim[]>
  /** Prolongs the leases of claims that are still held. */
  renew(claims: readonly Claim[]): Promise<void>
  /** Writes outcomes in bulk. Resolves to how many claims were lost meanwhile; their outcomes are dropped. */
  settle(settled: readonly SettledClaim[]): Promise<number>
  /** Gives claims back untried: due at once, nothing counted. */
  release(claims: readonly Claim[]): Promise<void>
}

/** Creates the claims of one process. */
export function createClaims(deps: ClaimsDeps): Claims {
  return {
    async claimDue(limit) {
      return takeClaims(deps, await findDue(deps, limit), { state: 'pending', $expr: IS_DUE })
    },
    async takeOver(limit) {
      await buryKillers(deps)
      const abandoned = { state: 'processing', $expr: leaseHasEnded(deps) }
      return takeClaims(deps, await findAbandoned(deps, abandoned, limit), abandoned)
    },
    async renew(claims) {
      await updateHeld(deps, claims, { $set: { leaseUntil: leaseEnd(deps) } })
    },
    async settle(settled) {
      const groups = Map.groupBy(settled, ({ claim, settlement, attempt }) =>
        JSON.stringify([claim.fence, settlement, attempt]),
      )
      const updates = [...groups.values()].map((group) => settleStatement(deps, group))
      const matched = updates.length === 0 ? 0 : await runUpdates(deps.db, updates)
      return settled.length - matched
    },
    async release(claims) {
      await updateHeld(deps, claims, { $set: { state: 'pending', dueAt: '$$NOW', lost: 0 }, $unset: HOLD })
    },
  }
}

const HOLD = ['leaseOwner', 'leaseUntil', 'claimedAt', 'claim']
const NEWEST_ATTEMPTS = 50

function leaseEnd({ leaseMs }: ClaimsDeps): Document {
  return { $add: ['$$NOW', leaseMs] }
}

/** A born claim has no `leaseUntil` yet: its lease counts from the instant that the server wrote the record. */
function leaseHasEnded({ leaseMs }: ClaimsDeps): Document {
  return { $lt: [{ $ifNull: ['$leaseUntil', { $add: [{ $toDate: '$claimedAt' }, leaseMs] }] }, '$$NOW'] }
}

// An absent due time sorts before every date, and means: due now.
const IS_DUE = { $lte: ['$dueAt', '$$NOW'] }

/** Reads in the order of the index and stops at `limit`, so that a long list of records due later costs nothing. */
async function findDue(deps: ClaimsDeps, limit: number): Promise<ObjectId[]> {
  const first = await deps.db
    .collection<EventDocument>(EVENTS)
    .find({ state: 'pending' })
    .project<{ _id: ObjectId; due: boolean }>({ due: IS_DUE })
    .sort({ state: 1, dueAt: 1 })
    .limit(limit)
    .toArray()
  return first.filter(({ due }) => due).map(({ _id }) => _id)
}

async function findAbandoned(deps: ClaimsDeps, abandoned: Document, limit: number): Promise<ObjectId[]> {
  const found = await deps.db
    .collection(EVENTS)
    .find(abandoned)
    .project<{ _id: ObjectId }>({ _id: 1 })
    .sort({ state: 1, _id: 1 })
    .limit(limit)
    .toArray()
  return found.map(({ _id }) => _id)
}

/** Two processes may pick the same ids: `claimable` in the filter lets each record go to one of them. */
async function takeClaims(deps: ClaimsDeps, ids: ObjectId[], claimable: Document): Promise<Claim[]> {
  if (ids.length === 0) return []
  const claim = randomUUID()
  const take = [
    {
      $set: {
        lost: { $cond: [{ $eq: ['$state', 'processing'] }, { $add: ['$lost', 1] }, '$lost'] },
        starts: { $add: ['$starts', 1] },
        fence: { $add: ['$fence', 1] },
        state: 'processing',
        leaseOwner: deps.owner,
        leaseUntil: leaseEnd(deps),
        claim,
      },
    },
    { $unset: ['dueAt', 'claimedAt'] },
  ]
  await runUpdates(deps.db, [{ q: { _id: { $in: ids }, ...claimable }, u: take, multi: true }])
  const taken = await deps.db
    .collection<EventDocument>(EVENTS)
    .aggregate<EventDocument & { failedForMs: number | null }>([
      { $match: { _id: { $in: ids }, claim } },
      { $set: { failedForMs: { $subtract: ['$$NOW', '$firstFailedAt'] } } },
      { $project: { raw: 0, headers: 0, attempts: 0 } },
    ])
    .toArray()
  return taken.map(toClaim)
}

function toClaim(record: EventDocument & { failedForMs: number | null }): Claim {
  const { _id, provider, eventId, type, objectId, orderId, facts, fence, lost, failures, requestId } = record
  const event: WebhookEvent = { id: eventId, type, objectId, facts: { ...facts, orderId } }
  return { _id, provider, fence, lost, failures, failedForMs: record.failedForMs ?? 0, requestId, event }
}

/** A record whose holders died `maxStarts` times in a row without a verdict is dead: it may be what kills them. */
async function buryKillers(deps: ClaimsDeps): Promise<void> {
  const q = { state: 'processing', lost: { $gte: deps.maxStarts - 1 }, $expr: leaseHasEnded(deps) }
  const u = [{ $set: { state: 'dead', reason: 'worker_died', settledAt: '$$NOW' } }, { $unset: HOLD }]
  await runUpdates(deps.db, [{ q, u, multi: true }])
}

async function updateHeld(deps: ClaimsDeps, claims: readonly Claim[], change: Record<string, unknown>): Promise<void> {
  if (claims.length === 0) return
  const stages = Object.entries(change).map(([stage, value]) => ({ [stage]: value }))
  const byFence = Map.groupBy(claims, ({ fence }) => fence)
  await runUpdates(
    deps.db,
    [...byFence].map(([fence, held]) => ({ q: heldBy(deps, held, fence), u: stages, multi: true })),
  )
}

function heldBy({ owner }: ClaimsDeps, claims: readonly Claim[], fence: number): Document {
  return { _id: { $in: claims.map(({ _id }) => _id) }, state: 'processing', leaseOwner: owner, fence }
}

function settleStatement(deps: ClaimsDeps, group: readonly SettledClaim[]): Document {
  const [first] = group
  if (first === undefined) throw new Error('A group has members')
  const claims = group.map(({ claim }) => claim)
  return { q: heldBy(deps, claims, first.claim.fence), u: settleStages(deps, first), multi: true }
}

function settleStages(deps: ClaimsDeps, { settlement, attempt }: SettledClaim): Document[] {
  // Texts from outside go in as literals: one that begins with $ would be read as the name of a member.
  const entry = { $literal: { ms: attempt.ms, outcome: attempt.outcome, code: attempt.code, message: attempt.message } }
  const attempts = { $concatArrays: ['$attempts', [{ $mergeObjects: [{ at: '$$NOW' }, entry] }]] }
  const common = { lost: 0, attempts: { $slice: [attempts, -NEWEST_ATTEMPTS] } }
  const failed = {
    lastError: {
      $mergeObjects: [
        { $literal: { code: attempt.code ?? attempt.outcome, message: attempt.message ?? '' } },
        { at: '$$NOW' },
      ],
    },
    failures: { $add: ['$failures', 1] },
    firstFailedAt: { $ifNull: ['$firstFailedAt', '$$NOW'] },
  }
  const unset = { $unset: HOLD }
  switch (settlement.state) {
    case 'done':
      return [
        {
          $set: {
            ...common,
            state: 'done',
            reason: null,
            outcome: { $literal: settlement.outcome },
            settledAt: '$$NOW',
            ...retention(deps),
          },
        },
        unset,
      ]
    case 'dead':
      return [
        { $set: { ...common, ...failed, state: 'dead', reason: { $literal: settlement.reason }, settledAt: '$$NOW' } },
        unset,
      ]
    case 'unhandled':
      return [
        { $set: { ...common, state: 'unhandled', reason: 'type_unhandled', settledAt: '$$NOW', ...retention(deps) } },
        unset,
      ]
    case 'pending':
      return [
        { $set: { ...common, ...failed, state: 'pending', dueAt: { $add: ['$$NOW', settlement.delayMs] } } },
        unset,
      ]
  }
}

/** The whole record goes, or with a scheme that signs no time only the body: the key must stay. */
function retention({ retentionMs }: ClaimsDeps): Document {
  const end = { $add: ['$$NOW', retentionMs] }
  return {
    expireAt: { $cond: [{ $eq: ['$keepKey', true] }, '$$REMOVE', end] },
    stripAt: { $cond: [{ $eq: ['$keepKey', true] }, end, '$$REMOVE'] },
  }
}

async function runUpdates(db: Db, updates: readonly Document[]): Promise<number> {
  const reply = await db.command({ update: EVENTS, updates, ordered: false, writeConcern: MAJORITY })
  return Number(reply.n)
}
