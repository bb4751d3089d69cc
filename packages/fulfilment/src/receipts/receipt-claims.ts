import { bulkUpdate, sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, Filter } from 'mongodb'
import { ORDERS, type OrderDocument, type StoredReceipt } from '../orders/order-document.ts'

/** A receipt that this worker alone may send until its lease ends. */
export interface ReceiptClaim {
  readonly orderId: string
  /** The receipt as it was before the claim. */
  readonly receipt: StoredReceipt
  /** Names the claim: a later one is higher. */
  readonly fence: number
}

/** What became of a claimed receipt. */
export type Settlement =
  | { readonly state: 'sent' }
  /** Not begun: whoever comes next may take it, in the state in which it was found. */
  | { readonly state: 'put_back'; readonly as: StoredReceipt['state'] }
  | { readonly state: 'owed'; readonly code: string; readonly waitMs: number }
  | { readonly state: 'parked'; readonly code: string }

/** The receipts owed, as workers share them. Leases and due times are the database's. */
export interface ReceiptClaims {
  /**
   * Claims up to `limit` receipts that are due; each is marked `sending` on a majority before this resolves. Once `ended` is
   * aborted it claims nothing.
   */
  claim(limit: number, ended?: AbortSignal): Promise<ReceiptClaim[]>
  /**
   * Claims receipts that were deferred, before they are due, those due soonest first. A receipt is left alone for 2 s after
   * its last attempt, for 30 s once it had eight, and until it is due after an error of one of `exceptCodes`.
   */
  claimDeferred(limit: number, exceptCodes: readonly string[]): Promise<ReceiptClaim[]>
  /** Writes what became of claimed receipts; a claim that was lost to a later one changes nothing. */
  settle(settled: readonly { readonly claim: ReceiptClaim; readonly settlement: Settlement }[]): Promise<void>
}

/** Creates the claims of one worker. */
export function createReceiptClaims(db: Db, options: ClaimOptions): ReceiptClaims {
  const { leaseMs, newClaimId } = options
  async function take(due: readonly Due[], now: Date): Promise<ReceiptClaim[]> {
    if (due.length === 0) return []
    const claimId = newClaimId()
    const claims = due.map(({ orderId, receipt }) => ({ orderId, receipt, fence: receipt.fence + 1 }))
    const until = new Date(now.getTime() + leaseMs)
    const taken = { state: 'sending', heldBy: claimId, dueAt: until }
    const byFence = Map.groupBy(claims, ({ receipt }) => receipt.fence)
    const statements = [...byFence].map(([fence, group]) =>
      statement(group, fence, { $set: at({ ...taken, fence: fence + 1 }), $inc: at({ attempts: 1 }) }),
    )
    // A refused statement claims nothing; the others are ours.
    const { n: matched } = await sendUpdates(db, { update: ORDERS, updates: statements })
    return matched === claims.length ? claims : onlyHeld(db, claims, claimId)
  }
  return {
    async claim(limit, ended) {
      const now = await databaseNow(db)
      const due = await findDue(db, now, limit)
      return ended?.aborted ? [] : take(due, now)
    },
    async claimDeferred(limit, exceptCodes) {
      const now = await databaseNow(db)
      return take(await findDeferred(db, { now, limit, exceptCodes }), now)
    },
    async settle(settled) {
      const now = await databaseNow(db)
      const groups = Map.groupBy(settled, ({ claim, settlement }) => JSON.stringify([claim.fence, settlement]))
      const statements = [...groups.values()].flatMap((group) => settleStatement(group, now))
      await bulkUpdate(db, { update: ORDERS, updates: statements })
    },
  }
}

/** How long a claim holds and what names it. */
export interface ClaimOptions {
  readonly leaseMs: number
  readonly newClaimId: () => string
}

async function databaseNow(db: Db): Promise<Date> {
  const { localTime } = await db.command({ hello: 1 })
  return localTime as Date
}

interface Due {
  readonly orderId: string
  readonly receipt: StoredReceipt
}

async function findDue(db: Db, now: Date, limit: number): Promise<Due[]> {
  const found = await findReceipts(db, { 'receipts.dueAt': { $lte: now } }, limit)
  return found.filter(({ receipt }) => receipt.dueAt && receipt.dueAt <= now).slice(0, limit)
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
  const isDeferred = {
    state: 'owed',
    dueAt: { $gt: now },
    'lastError.code': { $exists: true, $nin: exceptCodes },
    $or: [
      { attempts: { $lt: MANY_ATTEMPTS }, 'lastError.at': { $lte: rested } },
      { 'lastError.at': { $lte: longRested } },
    ],
  }
  const found = await findReceipts(db, { receipts: { $elemMatch: isDeferred } }, limit)
  const mayGo = ({ state, dueAt, lastError, attempts }: StoredReceipt): boolean =>
    state === 'owed' &&
    (dueAt ?? now) > now &&
    lastError !== null &&
    !exceptCodes.includes(lastError.code) &&
    lastError.at <= (attempts < MANY_ATTEMPTS ? rested : longRested)
  return found.filter(({ receipt }) => mayGo(receipt)).slice(0, limit)
}

// The hinted index yields the longest due first; a sort would have to hold the whole backlog, the index being multikey.
async function findReceipts(db: Db, filter: Filter<OrderDocument>, limit: number): Promise<Due[]> {
  const orders = await db
    .collection<OrderDocument>(ORDERS)
    .find(filter, { readPreference: 'primary', maxTimeMS: 4_000 })
    .project<Pick<OrderDocument, '_id' | 'receipts'>>({ receipts: 1 })
    .hint('receipts_unsettled')
    .limit(limit)
    .toArray()
  return orders.flatMap(({ _id, receipts }) => receipts.map((receipt) => ({ orderId: _id, receipt })))
}

type Settled = Parameters<ReceiptClaims['settle']>[0]

function settleStatement(group: Settled, now: Date): Statement[] {
  const [first] = group
  if (first === undefined) return []
  const claims = group.map(({ claim }) => claim)
  return [statement(claims, first.claim.fence, settlementUpdate(first.settlement, now))]
}

/**
 * One statement for many receipts, each changed only while it has this fence: the server pays for every statement.
 * Keys occur once, so no receipt is changed but those of the claims.
 */
function statement(claims: readonly ReceiptClaim[], fence: number, u: object): Statement {
  const ids = [...new Set(claims.map(({ orderId }) => orderId))]
  const keys = claims.map(({ receipt }) => receipt.key)
  return {
    q: { _id: { $in: ids }, receipts: { $elemMatch: { key: { $in: keys }, fence } } },
    u,
    multi: true,
    arrayFilters: [{ 'receipt.key': { $in: keys }, 'receipt.fence': fence }],
    hint: { _id: 1 },
  }
}

function settlementUpdate(settlement: Settlement, now: Date): object {
  switch (settlement.state) {
    case 'sent':
      return { $set: at({ state: 'sent', sentAt: now, lastError: null }), $unset: at({ dueAt: '', heldBy: '' }) }
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

/** The members of the receipts that a statement names. */
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

/** Those of the claims that are ours: others were faster with some. */
async function onlyHeld(db: Db, claims: readonly ReceiptClaim[], claimId: string): Promise<ReceiptClaim[]> {
  const orders = await db
    .collection<OrderDocument>(ORDERS)
    .find({ _id: { $in: claims.map(({ orderId }) => orderId) } }, { readConcern: 'majority', maxTimeMS: 4_000 })
    .project<Pick<OrderDocument, '_id' | 'receipts'>>({ receipts: 1 })
    .toArray()
  const held = orders.flatMap(({ receipts }) => receipts.filter(({ heldBy }) => heldBy === claimId))
  const keys = new Set(held.map(({ key }) => key))
  return claims.filter(({ receipt }) => keys.has(receipt.key))
}
