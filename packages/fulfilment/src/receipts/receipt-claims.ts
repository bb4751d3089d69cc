import { keyUnknown } from '@oncehook/kernel/error-codes'
import { bulkUpdate, sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/clock-step'
import type { Db, Filter, FindOptions } from 'mongodb'
import { ORDERS, type OrderDocument, type StoredReceipt } from '../orders/order-document.ts'

/** A receipt that only this worker may send until its lease ends. */
export interface ReceiptClaim {
  readonly orderId: string
  /** The receipt before the claim. */
  readonly receipt: StoredReceipt
  /** Fencing token of the claim. Later claims have a higher one. */
  readonly fence: number
}

/** The outcome of a claimed receipt. */
export type Settlement = SingleSettlement | WaitSettlement

type SingleSettlement =
  | { readonly state: 'sent' }
  /** Not attempted: the receipt returns to its previous state and is due at once. */
  | { readonly state: 'put_back'; readonly as: StoredReceipt['state'] }
  | { readonly state: 'owed'; readonly code: string; readonly waitMs: number }
  | { readonly state: 'parked'; readonly code: string }

/** Not attempted: the key of this id, which encrypts the address, is missing. `attempts`: those before the claim. */
interface WaitSettlement {
  readonly state: 'waiting'
  readonly keyId: string
  readonly attempts: number
}

/** The outbox of receipts, shared by the workers. Leases and due times use the database clock. */
export interface ReceiptClaims {
  /**
   * Claims up to `limit` due receipts. A majority has them as `sending` when this resolves. Claims nothing after
   * `ended` is aborted. First releases earlier claims whose write was not confirmed, because none of them was sent.
   */
  claim(limit: number, ended?: AbortSignal): Promise<ReceiptClaim[]>
  /**
   * Claims deferred receipts before they are due, earliest due time first. Skips a receipt for 2 s after its last
   * attempt, for 30 s after eight attempts, and until it is due if its last error is one of `exceptCodes`.
   */
  claimDeferred(limit: number, exceptCodes: readonly string[]): Promise<ReceiptClaim[]>
  /** Claims receipts that wait for one of these encryption keys, those first that were tried longest ago. */
  claimWaiting(limit: number, keyIds: readonly string[]): Promise<ReceiptClaim[]>
  /** Writes the outcomes of claimed receipts. A claim lost to a later one changes nothing. */
  settle(settled: readonly { readonly claim: ReceiptClaim; readonly settlement: Settlement }[]): Promise<void>
}

/** Creates the claims of one worker. */
export function createReceiptClaims(db: Db, options: ClaimOptions): ReceiptClaims {
  const { leaseMs, newClaimId } = options
  let unconfirmed: UnconfirmedClaims[] = []
  async function putBackUnconfirmed(): Promise<void> {
    if (unconfirmed.length === 0) return
    const now = await databaseNow(db)
    const statements = unconfirmed.flatMap((one) => putBackStatements(one, now))
    await sendUpdates(db, { update: ORDERS, updates: statements })
    unconfirmed = []
  }
  async function take(due: readonly Due[], now: Date): Promise<ReceiptClaim[]> {
    if (due.length === 0) return []
    const claimId = newClaimId()
    const claims = due.map(({ orderId, receipt }) => ({ orderId, receipt, fence: receipt.fence + 1 }))
    const until = new Date(now.getTime() + leaseMs)
    const taken = { state: 'sending', heldBy: claimId, dueAt: until }
    const byFence = Map.groupBy(claims, ({ receipt }) => receipt.fence)
    const statements = [...byFence].map(([fence, group]) =>
      statement(group, { fence }, { $set: at({ ...taken, fence: fence + 1 }), $inc: at({ attempts: 1 }) }),
    )
    try {
      // A refused statement claims nothing; the others succeeded.
      const { n: matched } = await sendUpdates(db, { update: ORDERS, updates: statements })
      return matched === claims.length ? claims : await onlyHeld(db, claims, claimId)
    } catch (error) {
      unconfirmed.push({ claims, claimId })
      throw error
    }
  }
  return {
    async claim(limit, ended) {
      await putBackUnconfirmed()
      const now = await databaseNow(db)
      const due = await findDue(db, { now, limit, ...options })
      return ended?.aborted ? [] : take(due, now)
    },
    async claimDeferred(limit, exceptCodes) {
      const now = await databaseNow(db)
      return take(await findDeferred(db, { now, limit, exceptCodes }), now)
    },
    async claimWaiting(limit, keyIds) {
      const now = await databaseNow(db)
      const found = (await Promise.all(keyIds.map((keyId) => findWaiting(db, keyId, limit)))).flat()
      return take(found.toSorted((one, other) => triedAt(one) - triedAt(other)).slice(0, limit), now)
    },
    async settle(settled) {
      const now = await databaseNow(db)
      const groups = Map.groupBy(settled, ({ claim, settlement }) => JSON.stringify([claim.fence, settlement]))
      const statements = [...groups.values()].flatMap((group) =>
        settleStatement(group, { now, keepMs: options.keepMs }),
      )
      await bulkUpdate(db, { update: ORDERS, updates: statements })
    },
  }
}

/** The lease time, the source of claim ids, and the maximum delay of a receipt. Milliseconds. */
export interface ClaimOptions {
  readonly leaseMs: number
  readonly maxWaitMs: number
  readonly newClaimId: () => string
  /** Milliseconds that a sent receipt keeps its customer and e-mail. Default: 90 days. */
  readonly keepMs?: number | undefined
}

const KEEP_MS = 90 * 86_400_000

interface SettlementTimes extends Pick<ClaimOptions, 'keepMs'> {
  readonly now: Date
}

async function databaseNow(db: Db): Promise<Date> {
  const { localTime } = await db.command({ hello: 1 })
  return localTime as Date
}

interface Due {
  readonly orderId: string
  readonly receipt: StoredReceipt
}

interface DueOptions extends Pick<ClaimOptions, 'leaseMs' | 'maxWaitMs'> {
  readonly now: Date
  readonly limit: number
}

/** A due time later than the maximum was set by a clock that was ahead, so it counts as due. */
async function findDue(db: Db, { now, limit, leaseMs, maxWaitMs }: DueOptions): Promise<Due[]> {
  const latest = new Date(now.getTime() + Math.max(leaseMs, maxWaitMs) + CLOCK_STEP_MS)
  const ranges = [{ $lte: now }, { $gt: latest }]
  const isDue = { ...IS_RECEIPT, $or: ranges.map((dueAt) => ({ dueAt })) }
  // $elemMatch does not set index bounds.
  const bounds = { $or: ranges.map((range) => ({ 'receipts.dueAt': range })) }
  const found = await findReceipts(db, { ...bounds, receipts: { $elemMatch: isDue } }, { limit })
  return found
    .filter(({ receipt: { dueAt } }) => dueAt instanceof Date && (dueAt <= now || dueAt > latest))
    .slice(0, limit)
}

const REST_MS = 2_000
const MANY_ATTEMPTS = 8
const LONG_REST_MS = 30_000

interface Deferred {
  readonly now: Date
  readonly limit: number
  readonly exceptCodes: readonly string[]
}

async function findDeferred(db: Db, { now, limit, exceptCodes }: Deferred): Promise<Due[]> {
  const rested = new Date(now.getTime() - REST_MS)
  const longRested = new Date(now.getTime() - LONG_REST_MS)
  // The clock that recorded an attempt in the future was ahead.
  const yetToCome = new Date(now.getTime() + CLOCK_STEP_MS)
  const isDeferred = {
    ...IS_RECEIPT,
    state: 'owed',
    dueAt: { $gt: now },
    'lastError.code': { $exists: true, $nin: exceptCodes },
    $or: [
      { attempts: { $lt: MANY_ATTEMPTS }, 'lastError.at': { $lte: rested } },
      { 'lastError.at': { $lte: longRested } },
      { 'lastError.at': { $gt: yetToCome } },
    ],
  }
  const bounds = { 'receipts.dueAt': { $gt: now } }
  const found = await findReceipts(db, { ...bounds, receipts: { $elemMatch: isDeferred } }, { limit })
  const mayGo = ({ state, dueAt, lastError, attempts }: StoredReceipt): boolean =>
    state === 'owed' &&
    dueAt instanceof Date &&
    dueAt > now &&
    lastError !== null &&
    !exceptCodes.includes(lastError.code) &&
    (lastError.at <= (attempts < MANY_ATTEMPTS ? rested : longRested) || lastError.at > yetToCome)
  return found.filter(({ receipt }) => mayGo(receipt)).slice(0, limit)
}

/**
 * The due time of a receipt that waits for a key. As a text it is in the index of the unsettled, and never among those
 * that are due: however many wait, the others are found without passing them.
 */
function waitingMark(keyId: string, since: Date): string {
  return `${keyId} ${since.toISOString()}`
}

async function findWaiting(db: Db, keyId: string, limit: number): Promise<Due[]> {
  // The marks of this key and no others: an id has no character before `!`.
  const [first, end] = [`${keyId} `, `${keyId}!`]
  const filter = {
    receipts: { $elemMatch: { ...IS_RECEIPT, state: 'owed', dueAt: { $gte: first, $lt: end } } },
  } as const
  // Two conditions on the elements of a list would bound the index on one side only.
  const bounds = { min: { 'receipts.dueAt': first }, max: { 'receipts.dueAt': end } }
  const found = await findReceipts(db, filter, { limit, ...bounds })
  const isWaiting = ({ state, dueAt }: StoredReceipt): boolean =>
    state === 'owed' && typeof dueAt === 'string' && dueAt >= first && dueAt < end
  return found.filter(({ receipt }) => isWaiting(receipt)).slice(0, limit)
}

function triedAt({ receipt }: Due): number {
  // Something else may have written it.
  const at: unknown = receipt.lastError?.at
  return at instanceof Date ? at.getTime() : 0
}

// The hinted index returns the earliest due time first. A sort would load the whole backlog, because the index is
// multikey.
async function findReceipts(
  db: Db,
  filter: Filter<OrderDocument>,
  range: Pick<FindOptions, 'limit' | 'min' | 'max'>,
): Promise<Due[]> {
  const orders = await db
    .collection<OrderDocument>(ORDERS)
    .find(filter, { readPreference: 'primary', maxTimeMS: 4_000, hint: 'receipts_unsettled', ...range })
    .project<Pick<OrderDocument, '_id' | 'receipts'>>({ receipts: 1 })
    .toArray()
  return orders.flatMap(({ _id, receipts }) => receipts.filter(isReceipt).map((receipt) => ({ orderId: _id, receipt })))
}

// An imported order may contain other values here. They must not take the place of receipts that can be sent.
const IS_RECEIPT = { key: { $type: 'string' }, fence: { $type: 'number' } } as const

function isReceipt(stored: Partial<StoredReceipt> | null): boolean {
  return typeof stored?.key === 'string' && Number.isSafeInteger(stored.fence)
}

/** Claims whose write failed or could not be read back. Some of them may be stored. */
interface UnconfirmedClaims {
  readonly claims: readonly ReceiptClaim[]
  readonly claimId: string
}

/** One statement for each previous state. It changes only the receipts held by this claim. */
function putBackStatements({ claims, claimId }: UnconfirmedClaims, now: Date): Statement[] {
  const byState = Map.groupBy(claims, ({ receipt }) => receipt.state)
  return [...byState].map(([as, group]) => {
    const held = { key: { $in: group.map(({ receipt }) => receipt.key) }, heldBy: claimId, state: 'sending' }
    const filter = Object.entries(held).map(([name, value]) => [`receipt.${name}`, value])
    return {
      q: { _id: { $in: group.map(({ orderId }) => orderId) }, receipts: { $elemMatch: held } },
      u: { ...settlementUpdate({ state: 'put_back', as }, { now }), $unset: at({ heldBy: '' }) },
      multi: true,
      arrayFilters: [Object.fromEntries(filter)],
      hint: { _id: 1 },
    }
  })
}

type Settled = Parameters<ReceiptClaims['settle']>[0]

function settleStatement(group: Settled, { now, keepMs }: SettlementTimes): Statement[] {
  const [first] = group
  if (first === undefined) return []
  const claims = group.map(({ claim }) => claim)
  const { settlement } = first
  const { fence } = first.claim
  if (settlement.state === 'waiting') return waitStatements(claims, { fence, now, ...settlement })
  return [statement(claims, { fence }, settlementUpdate(settlement, { now, keepMs }))]
}

interface Wait {
  readonly fence: number
  readonly now: Date
  readonly keyId: string
  readonly attempts: number
}

/** A rotation may have wrapped the address by another key meanwhile: then the receipt is due again at once. */
function waitStatements(claims: readonly ReceiptClaim[], { fence, now, keyId, attempts }: Wait): Statement[] {
  // The number before the claim, not one less: the write may be repeated.
  const waits = { state: 'owed', attempts, lastError: { code: keyUnknown.code, at: now } }
  const byKey = (key: object, dueAt: Date | string): Statement =>
    statement(claims, { fence, 'email.key': key }, { $set: at({ ...waits, dueAt }) })
  return [byKey({ $eq: keyId }, waitingMark(keyId, now)), byKey({ $ne: keyId }, now)]
}

/** What a receipt must be to be changed: above all, it must have this fencing token. */
interface Held {
  readonly fence: number
  readonly 'email.key'?: object
}

/**
 * One statement for many receipts, because the server's cost is per statement. Keys are unique, so it changes only
 * claimed receipts, and of these only the ones that are as `held` says.
 */
function statement(claims: readonly ReceiptClaim[], held: Held, u: object): Statement {
  const ids = [...new Set(claims.map(({ orderId }) => orderId))]
  const members = { key: { $in: claims.map(({ receipt }) => receipt.key) }, ...held }
  const filter = Object.entries(members).map(([name, value]) => [`receipt.${name}`, value])
  return {
    q: { _id: { $in: ids }, receipts: { $elemMatch: members } },
    u,
    multi: true,
    arrayFilters: [Object.fromEntries(filter)],
    hint: { _id: 1 },
  }
}

function settlementUpdate(settlement: SingleSettlement, { now, keepMs = KEEP_MS }: SettlementTimes): object {
  switch (settlement.state) {
    case 'sent':
      return {
        $set: at({ state: 'sent', sentAt: now, lastError: null, forgetAt: new Date(now.getTime() + keepMs) }),
        $unset: at({ dueAt: '', heldBy: '' }),
      }
    case 'put_back':
      return { $set: at({ state: settlement.as, dueAt: now }), $inc: at({ attempts: -1 }) }
    case 'owed': {
      const dueAt = new Date(now.getTime() + settlement.waitMs)
      return { $set: at({ state: 'owed', dueAt, lastError: { code: settlement.code, at: now } }) }
    }
    case 'parked':
      return { $set: at({ state: 'parked', dueAt: null, lastError: { code: settlement.code, at: now } }) }
  }
}

/** Update paths for the receipts matched by a statement. */
function at(members: object): object {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [`receipts.$[receipt].${name}`, value]))
}

interface Statement {
  readonly q: object
  readonly u: object
  readonly multi: true
  readonly arrayFilters: readonly object[]
  readonly hint: object
}

/** The claims that succeeded. Other workers got the rest. */
async function onlyHeld(db: Db, claims: readonly ReceiptClaim[], claimId: string): Promise<ReceiptClaim[]> {
  const orders = await db
    .collection<OrderDocument>(ORDERS)
    .find({ _id: { $in: claims.map(({ orderId }) => orderId) } }, { readConcern: 'majority', maxTimeMS: 4_000 })
    .project<Pick<OrderDocument, '_id' | 'receipts'>>({ receipts: 1 })
    .toArray()
  const held = orders.flatMap(({ receipts }) =>
    receipts.filter((receipt) => isReceipt(receipt) && receipt.heldBy === claimId),
  )
  const keys = new Set(held.map(({ key }) => key))
  return claims.filter(({ receipt }) => keys.has(receipt.key))
}
