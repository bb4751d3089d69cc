import { randomUUID } from 'node:crypto'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/clock-step'
import type { UnhandledReason, WebhookEvent } from '@oncehook/webhooks/providers'
import type { Db, Document, ObjectId } from 'mongodb'
import { DUE_INDEX, EVENTS, type EventDocument, PROCESSING_INDEX } from '../event-document.ts'
import { counterOf, listOf, positiveOr, raised, timeOf } from '../record-expressions.ts'
import { datesOfDead, datesOfEnding, type Retention } from '../retention/retention.ts'
import { type Candidate, judgeCandidate } from './count-deaths.ts'
import { type FailingTime, measureFailing } from './failing-time.ts'
import { createOwners, type Owners } from './owners.ts'

/** The right to settle a record. It is valid until the lease expires or another claim raises the fence. */
export interface Claim {
  readonly _id: ObjectId
  readonly provider: string
  /** Every later write requires this number, so a lost claim changes nothing. */
  readonly fence: number
  /**
   * Consecutive earlier claims that ended without a result. After the first, only claims whose attempt had begun count.
   */
  readonly lost: number
  /** Consecutive calls to fulfilment that failed as a whole with this event in them, except during outages. */
  readonly failedCalls: number
  /** Consecutive `internal` refusals of this event by fulfilment. */
  readonly internalErrors: number
  /** Failed attempts since the first failure, and how long the event has been failing. */
  readonly failures: number
  readonly failedForMs: number
  /** How long fulfilment has answered that it does not know the order. */
  readonly orderUnknownForMs: number
  readonly requestId: string
  readonly event: WebhookEvent
}

/** The result of an attempt, as stored in the record. */
export interface AttemptResult {
  readonly ms: number
  readonly outcome: string
  readonly code: string | null
  readonly message: string | null
}

/** The result of an attempt for the event: settled permanently, due again after `delayMs`, or dead with a reason. */
export type Settlement =
  | { readonly state: 'done'; readonly outcome: { readonly kind: string; readonly version: number | null } }
  | {
      readonly state: 'pending'
      readonly delayMs: number
      readonly failedCalls?: number
      readonly internalErrors?: number
    }
  | { readonly state: 'dead'; readonly reason: string }
  | { readonly state: 'unhandled'; readonly reason: UnhandledReason }

/** A claim with the result of its attempt. */
export interface SettledClaim {
  readonly claim: Claim
  readonly settlement: Settlement
  readonly attempt: AttemptResult
}

/** Dependencies of the claims. Times are in milliseconds. */
export interface ClaimsDeps extends Retention {
  readonly db: Db
  readonly owner: string
  readonly leaseMs: number
  readonly maxStarts: number
  /** The longest delay that is ever set for a record. A later due time comes from a wrong clock. */
  readonly maxDelayMs: number
  /** Milliseconds that never go backwards. Default: those of the process. */
  readonly monotonicMs?: () => number
}

/** Claims, keeps and releases records. All times come from the database's clock, and every write is fenced. */
export interface Claims {
  /** Claims up to `limit` due records, the longest due first. New records and retries share the places. */
  claimDue(limit: number): Promise<Claim[]>
  /**
   * Claims up to `limit` records whose lease has expired. Marks records as dead that seem to kill their holders.
   * Records that this process still holds are kept: their leases are extended. A loss counts only if its owner is not
   * alive.
   */
  takeOver(limit: number, held?: Iterable<Claim>): Promise<{ readonly taken: Claim[]; readonly buried: number }>
  /**
   * Writes that an attempt of these claims begins. They have lost a holder before. If this process dies, its death
   * counts towards marking a record as dead only if the record was attempted `alone`, with nothing else in progress.
   * With `together`, the death makes each of them a suspect.
   */
  begin(claims: readonly Claim[], company: 'alone' | 'together'): Promise<void>
  /** Writes that this process is alive. Call it three times during a lease. */
  beat(): Promise<void>
  /** Extends the leases of claims that are still held. */
  renew(claims: readonly Claim[]): Promise<void>
  /**
   * Writes outcomes in bulk. It is safe to repeat after a failure. Resolves to those whose claim was lost in the
   * meantime: their outcomes are dropped.
   */
  settle(settled: readonly SettledClaim[]): Promise<readonly SettledClaim[]>
  /** Releases claims without an attempt. They are due at once, and nothing counts for or against them. */
  release(claims: readonly Claim[]): Promise<void>
}

/** Creates the claims of one process. */
export function createClaims(deps: ClaimsDeps): Claims {
  const { db, owner, leaseMs, monotonicMs = () => performance.now() } = deps
  const owners = createOwners({ db, owner, leaseMs, monotonicMs })
  let favoursTimed = false
  return {
    async claimDue(limit) {
      const claims: Claim[] = []
      favoursTimed = !favoursTimed
      // Another process may have taken the records found here. Then search again, or one process would starve the
      // other.
      for (let tries = 0; tries < MAX_TRIES && claims.length < limit; tries += 1) {
        const wanted = limit - claims.length
        const ids = await findDue(deps, wanted, (wanted + Number(favoursTimed)) >> 1)
        claims.push(...(await takeClaims(deps, ids, { claimable: { state: 'pending', ...isDue(deps) } })))
        if (ids.length < wanted) break
      }
      return claims
    },
    async takeOver(limit, held = []) {
      const buried = await buryKillers(deps, owners)
      const abandoned = { state: 'processing', $nor: [mayBeKiller(deps)], $expr: leaseHasEnded(deps) }
      const found = await findAbandoned(deps, abandoned, limit)
      const own = new Set(found.filter(({ leaseOwner }) => leaseOwner === owner).map(({ _id }) => String(_id)))
      const kept = own.size === 0 ? [] : [...held].filter(({ _id }) => own.has(String(_id)))
      await updateHeld(deps, kept, { $set: { leaseUntil: leaseEnd(deps) } })
      const keptIds = new Set(kept.map(({ _id }) => String(_id)))
      const free = found.filter(({ _id }) => !keptIds.has(String(_id)))
      const living = await owners.findLiving(free.map(({ leaseOwner = '' }) => leaseOwner))
      const ids = free.map(({ _id }) => _id)
      return { buried, taken: await takeClaims(deps, ids, { claimable: abandoned, living }) }
    },
    beat: () => owners.beat(),
    async begin(claims, company) {
      await updateHeld(deps, claims, { $set: { begun: company === 'alone' ? true : company } })
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
      return matched === settled.length ? [] : findLost(deps, settled)
    },
    async release(claims) {
      const byFailedCalls = Map.groupBy(claims, ({ failedCalls }) => failedCalls)
      for (const [failedCalls, group] of byFailedCalls) {
        const suspicion = failedCalls > 0 ? { failedCalls } : {}
        await updateHeld(deps, group, { $set: { state: 'pending', dueAt: '$$NOW', ...suspicion }, $unset: HOLD })
      }
    },
  }
}

/** The code with which fulfilment refuses an event whose order does not exist, or not yet. */
export const ORDER_UNKNOWN = 'order_unknown'

/** The fields with which a process holds a record. */
export const HOLD = ['leaseOwner', 'leaseUntil', 'leaseMs', 'claimedAt', 'claim', 'begun']
/**
 * The fields that count towards marking an event as dead because it causes failures and deaths. They last until it gets
 * a result or is replayed.
 */
export const SUSPICION = ['failedCalls', 'internalErrors', 'losses']
const NEWEST_ATTEMPTS = 50
const MAX_TRIES = 5

function leaseEnd({ leaseMs }: ClaimsDeps): Document {
  return { $add: ['$$NOW', leaseMs] }
}

// Timestamps of the server have whole seconds only. Without one more second, a lease could end too early.
const TIMESTAMP_STEP_MS = 1_000

/**
 * A record claimed on insert has no `leaseUntil` yet. Its lease begins when the server writes the record. The length is
 * that of the holder's leases: during a rolling restart with another `LEASE_MS` it differs from ours.
 */
function leaseHasEnded(deps: ClaimsDeps): Document {
  const leaseMs = positiveOr('leaseMs', deps.leaseMs)
  const bornLeaseEnd = { $add: [timeOf('claimedAt'), leaseMs, TIMESTAMP_STEP_MS] }
  const end = { $ifNull: [timeOf('leaseUntil'), bornLeaseEnd] }
  // No lease is longer than half of this. The other half is for the clock of a new primary that is slightly behind.
  const latest = { $add: ['$$NOW', leaseMs, leaseMs, TIMESTAMP_STEP_MS] }
  return { $or: [{ $lt: [end, '$$NOW'] }, { $gt: [end, latest] }] }
}

/**
 * An absent due time sorts before every date and means due now. A due time later than any that is ever set comes from a
 * clock that was ahead. It counts as past.
 */
function isDue({ maxDelayMs }: ClaimsDeps): Document {
  const latest = { $add: ['$$NOW', maxDelayMs + CLOCK_STEP_MS] }
  return { $or: [{ $expr: { $lte: ['$dueAt', '$$NOW'] } }, { $expr: { $gt: ['$dueAt', latest] } }] }
}

/**
 * The longest due come first. Records without a due time, which are new, come before all others in the index. If they
 * fill the limit, `timed` places are for records whose time has come. Otherwise a backlog would prevent all retries.
 * The expression narrows the range of the index, so that a long list of records due later costs nothing.
 */
async function findDue(deps: ClaimsDeps, limit: number, timed: number): Promise<ObjectId[]> {
  const sort = { state: 1, dueAt: 1 } as const
  const hint = DUE_INDEX
  const first = await findIds(deps, { filter: { state: 'pending', ...isDue(deps) }, sort, limit, hint })
  if (first.length < limit || timed === 0) return first
  const filter = { state: 'pending', dueAt: { $gte: EPOCH }, ...isDue(deps) }
  const overtaken = await findIds(deps, { filter, sort, limit: timed, hint })
  const places = new Set(overtaken.map(String))
  const others = first.filter((id) => !places.has(String(id)))
  return [...others.slice(0, limit - overtaken.length), ...overtaken]
}

const EPOCH = new Date(0)

function findAbandoned({ db }: ClaimsDeps, abandoned: Document, limit: number): Promise<Abandoned[]> {
  const options = { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS }
  const found = db.collection<EventDocument>(EVENTS).find(abandoned, options).project<Abandoned>({ leaseOwner: 1 })
  return found.sort({ state: 1, _id: 1 }).limit(limit).toArray()
}

type Abandoned = Pick<EventDocument, '_id' | 'leaseOwner'>

interface Search {
  readonly filter: Document
  readonly sort: Readonly<Record<string, 1>>
  readonly limit: number
  /** The index. While it is being built, the server refuses the search instead of reading every record. */
  readonly hint: string
}

const SEARCH_MS = 4_000

async function findIds({ db }: ClaimsDeps, { filter, sort, limit, hint }: Search): Promise<ObjectId[]> {
  const events = db.collection(EVENTS)
  const options = { hint, sort, limit, maxTimeMS: SEARCH_MS }
  const found = await events.find(filter, options).project<{ _id: ObjectId }>({ _id: 1 }).toArray()
  return found.map(({ _id }) => _id)
}

/** How records are claimed. */
interface Taking {
  /** Two processes may pick the same ids. This part of the filter lets only one of them take each record. */
  readonly claimable: Document
  /** Owners whose losses are not deaths. */
  readonly living?: ReadonlySet<string>
}

async function takeClaims(deps: ClaimsDeps, ids: ObjectId[], { claimable, living }: Taking): Promise<Claim[]> {
  if (ids.length === 0) return []
  const claim = randomUUID()
  const counts = countsAsLost([...(living ?? [])])
  const loss = { owner: '$leaseOwner', at: '$$NOW' }
  const losses = { $slice: [{ $concatArrays: [listOf('losses'), [loss]] }, -MOST_LOSSES] }
  const take = [
    {
      $set: {
        lost: { $cond: [counts, raised('lost'), counterOf('lost')] },
        losses: { $cond: [counts, losses, '$losses'] },
        starts: raised('starts'),
        fence: raised('fence'),
        state: 'processing',
        leaseOwner: deps.owner,
        leaseUntil: leaseEnd(deps),
        leaseMs: deps.leaseMs,
        claim,
      },
    },
    { $unset: ['dueAt', 'claimedAt', 'begun'] },
  ]
  await runUpdates(deps.db, [{ q: { _id: { $in: ids }, ...claimable }, u: take, multi: true, hint: BY_ID }])
  const { failedForMs, orderUnknownForMs } = failingTime(deps)
  const taken = await deps.db
    .collection<EventDocument>(EVENTS)
    .aggregate<EventDocument & Ages>([
      { $match: { _id: { $in: ids }, claim } },
      { $set: { failedForMs, orderUnknownForMs } },
      { $project: { raw: 0, headers: 0, sealed: 0, attempts: 0 } },
    ])
    .toArray()
  const place = new Map(ids.map((id, index) => [String(id), index]))
  const placeOf = ({ _id }: Claim): number => place.get(String(_id)) ?? 0
  return taken.map(toClaim).sort((one, other) => placeOf(one) - placeOf(other))
}

// The first loss puts a record under suspicion, even if the record only waited in its holder's memory, because sending
// a large batch writes nothing. After that, a loss counts only if it came after `begin`. Otherwise a series of deaths
// would mark whole backlogs as dead.
function countsAsLost(living: readonly string[]): Document {
  return {
    $and: [
      { $eq: ['$state', 'processing'] },
      { $not: [{ $in: ['$leaseOwner', { $literal: living }] }] },
      { $or: [{ $eq: [counterOf('lost'), 0] }, { $in: ['$begun', [true, 'together']] }] },
    ],
  }
}

const MOST_LOSSES = 1_000

// With a long backlog, the server might prefer to scan all of it.
const BY_ID = { _id: 1 }

/** Two attempts are never further apart than the longest wait, unless no process could try or a clock jumped. */
function failingTime({ maxDelayMs }: ClaimsDeps): FailingTime {
  return measureFailing(maxDelayMs + CLOCK_STEP_MS)
}

type Ages = Pick<Claim, 'failedForMs' | 'orderUnknownForMs'>

function toClaim(record: EventDocument & Ages): Claim {
  const { _id, facts, fence, lost, failedForMs, orderUnknownForMs } = record
  const event: WebhookEvent = {
    id: textOf(record.eventId),
    type: textOf(record.type),
    objectId: textOf(record.objectId),
    facts: { ...facts, orderId: textOf(record.orderId) },
  }
  const [failures, failedCalls] = [numberOf(record.failures), numberOf(record.failedCalls)]
  const internalErrors = numberOf(record.internalErrors)
  const [provider, requestId] = [textOf(record.provider), textOf(record.requestId)]
  const counts = { fence, lost, failedCalls, internalErrors, failures, failedForMs, orderUnknownForMs }
  return { _id, provider, ...counts, requestId, event }
}

function numberOf(stored: unknown): number {
  return typeof stored === 'number' && Number.isFinite(stored) ? stored : 0
}

/** A record that was written by other software may lack it. */
function textOf(stored: unknown): string {
  return typeof stored === 'string' ? stored : ''
}

/**
 * Marks a record as dead if its holders died `maxStarts` times in a row without a result, because it may be the cause.
 * If some of the holders are alive, fewer deaths count. Only a process that has reached the database for a whole lease
 * decides this.
 */
async function buryKillers(deps: ClaimsDeps, owners: Owners): Promise<number> {
  const q = { state: 'processing' as const, ...mayBeKiller(deps), $expr: leaseHasEnded(deps) }
  const events = deps.db.collection<EventDocument>(EVENTS)
  const fields = { fence: 1, lost: 1, losses: 1, leaseOwner: 1 } as const
  const candidates = await events
    .find(q, { hint: PROCESSING_INDEX, maxTimeMS: SEARCH_MS })
    .project<Candidate>(fields)
    .sort({ state: 1, _id: 1 })
    .limit(MOST_JUDGED)
    .toArray()
  if (candidates.length === 0 || !owners.isSteady) return 0
  const living = await owners.findLiving(candidates.map(({ leaseOwner = '' }) => leaseOwner))
  const beats = await owners.readBeats(candidates.flatMap(({ losses = [] }) => losses.map(({ owner }) => owner)))
  let buried = 0
  for (const candidate of candidates) {
    const judgement = judgeCandidate(candidate, { owner: deps.owner, living, beats }, deps.maxStarts)
    if (judgement === 'held') continue
    const { _id, fence, leaseOwner } = candidate
    const u =
      judgement === 'dead' ? bury(deps) : [{ $set: { lost: judgement.deaths } }, { $unset: ['losses', 'begun'] }]
    const changed = await runUpdates(deps.db, [{ q: { ...q, _id, fence, leaseOwner }, u, hint: BY_ID }])
    if (judgement === 'dead') buried += changed
  }
  return buried
}

// A process tries one suspect at a time, so each process that died leaves at most one.
const MOST_JUDGED = 100

function mayBeKiller({ maxStarts }: ClaimsDeps): Document {
  return { begun: true, lost: { $gte: maxStarts - 1 } }
}

const DIED = {
  code: 'worker_died',
  message: 'Its worker processes died repeatedly before any result',
  at: '$$NOW',
}

function bury(deps: ClaimsDeps): Document[] {
  const dead = { state: 'dead', reason: 'worker_died', lastError: DIED, settledAt: '$$NOW', ...datesOfDead(deps) }
  return [{ $set: dead }, { $unset: [...HOLD, 'losses'] }]
}

async function updateHeld(deps: ClaimsDeps, claims: readonly Claim[], change: Record<string, unknown>): Promise<void> {
  if (claims.length === 0) return
  const stages = Object.entries(change).map(([stage, value]) => ({ [stage]: value }))
  const byFence = Map.groupBy(claims, ({ fence }) => fence)
  await runUpdates(
    deps.db,
    [...byFence].map(([fence, held]) => ({ q: heldBy(deps, held, fence), u: stages, multi: true, hint: BY_ID })),
  )
}

function heldBy({ owner }: ClaimsDeps, claims: readonly Claim[], fence: number): Document {
  return { _id: { $in: claims.map(({ _id }) => _id) }, state: 'processing', leaseOwner: owner, fence }
}

function settleStatement(deps: ClaimsDeps, group: readonly SettledClaim[]): Document {
  const [first] = group
  if (first === undefined) throw new Error('A group has members')
  const claims = group.map(({ claim }) => claim)
  return { q: heldBy(deps, claims, first.claim.fence), u: settleStages(deps, first), multi: true, hint: BY_ID }
}

/** Claims whose record is gone, has another fence, or is still being processed. */
async function findLost({ db }: ClaimsDeps, settled: readonly SettledClaim[]): Promise<SettledClaim[]> {
  const ids = settled.map(({ claim }) => claim._id)
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find({ _id: { $in: ids } })
    .project<Pick<EventDocument, '_id' | 'fence' | 'state'>>({ fence: 1, state: 1 })
    .toArray()
  const records = new Map(found.map((record) => [String(record._id), record]))
  return settled.filter(({ claim }) => {
    const record = records.get(String(claim._id))
    return record?.fence !== claim.fence || record.state === 'processing'
  })
}

function settleStages(deps: ClaimsDeps, { settlement, attempt }: SettledClaim): Document[] {
  // Texts from outside are passed as literals. Otherwise a text that begins with $ would be read as a field path.
  const entry = { $literal: { ms: attempt.ms, outcome: attempt.outcome, code: attempt.code, message: attempt.message } }
  const attempts = { $concatArrays: [listOf('attempts'), [{ $mergeObjects: [{ at: '$$NOW' }, entry] }]] }
  const common = { lost: 0, attempts: { $slice: [attempts, -NEWEST_ATTEMPTS] } }
  const { afterFailure, afterOrderUnknown } = failingTime(deps)
  const failed = {
    lastError: {
      $mergeObjects: [
        { $literal: { code: attempt.code ?? attempt.outcome, message: attempt.message ?? '' } },
        { at: '$$NOW' },
      ],
    },
    failures: raised('failures'),
    ...(attempt.code === ORDER_UNKNOWN ? afterOrderUnknown : afterFailure),
  }
  const unset = { $unset: [...HOLD, ...SUSPICION] }
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
            ...datesOfEnding(deps),
          },
        },
        unset,
      ]
    case 'dead':
      return [
        {
          $set: {
            ...common,
            ...failed,
            state: 'dead',
            reason: { $literal: settlement.reason },
            settledAt: '$$NOW',
            ...datesOfDead(deps),
          },
        },
        { $unset: [...HOLD, 'losses'] },
      ]
    case 'unhandled':
      return [
        {
          $set: {
            ...common,
            state: 'unhandled',
            reason: settlement.reason,
            settledAt: '$$NOW',
            ...datesOfEnding(deps),
          },
        },
        unset,
      ]
    case 'pending': {
      const { delayMs, failedCalls = 0, internalErrors = 0 } = settlement
      const suspicion = {
        ...(failedCalls > 0 ? { failedCalls } : {}),
        ...(internalErrors > 0 ? { internalErrors } : {}),
      }
      return [
        unset,
        { $set: { ...common, ...failed, ...suspicion, state: 'pending', dueAt: { $add: ['$$NOW', delayMs] } } },
      ]
    }
  }
}

/** Throws if a statement was refused. Its claims are not lost: claims are lost only if no statement matched them. */
function runUpdates(db: Db, updates: readonly Document[]): Promise<number> {
  return bulkUpdate(db, { update: EVENTS, updates })
}
