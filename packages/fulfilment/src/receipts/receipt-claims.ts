import { bulkUpdate, sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/clock-step'
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
   * aborted it claims nothing. Claims of which it is not known whether they hold are first put back: nothing was sent by
   * them.
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
      statement(group, fence, { $set: at({ ...taken, fence: fence + 1 }), $inc: at({ attempts: 1 }) }),
    )
    try {
      // A refused statement claims nothing; the others are ours.
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

/** How long a claim holds, what names it, and the longest that a receipt is ever put off. Milliseconds. */
export interface ClaimOptions {
  readonly leaseMs: number
  readonly maxWaitMs: number
  readonly newClaimId: () => string
  /** Milliseconds for which a sent receipt keeps its customer and e-mail. Default: 90 days. */
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

/** A time that is later than any that is ever set was set by a clock that was ahead, and counts as passed. */
async function findDue(db: Db, { now, limit, leaseMs, maxWaitMs }: DueOptions): Promise<Due[]> {
  const latest = new Date(now.getTime() + Math.max(leaseMs, maxWaitMs) + CLOCK_STEP_MS)
  const ranges = [{ $lte: now }, { $gt: latest }]
  const isDue = { ...IS_RECEIPT, $or: ranges.map((dueAt) => ({ dueAt })) }
  // An $elemMatch does not bound the search of the index.
  const bounds = { $or: ranges.map((range) => ({ 'receipts.dueAt': range })) }
  const found = await findReceipts(db, { ...bounds, receipts: { $elemMatch: isDue } }, limit)
  return found.filter(({ receipt: { dueAt } }) => dueAt && (dueAt <= now || dueAt > latest)).slice(0, limit)
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
  // An attempt that has yet to come was noted by a clock that was ahead.
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
  const found = await findReceipts(db, { ...bounds, receipts: { $elemMatch: isDeferred } }, limit)
  const mayGo = ({ state, dueAt, lastError, attempts }: StoredReceipt): boolean =>
    state === 'owed' &&
    (dueAt ?? now) > now &&
    lastError !== null &&
    !exceptCodes.includes(lastError.code) &&
    (lastError.at <= (attempts < MANY_ATTEMPTS ? rested : longRested) || lastError.at > yetToCome)
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
  return orders.flatMap(({ _id, receipts }) => receipts.filter(isReceipt).map((receipt) => ({ orderId: _id, receipt })))
}

// An imported order may hold other things there: they must not take the place of receipts that can be sent.
const IS_RECEIPT = { key: { $type: 'string' }, fence: { $type: 'number' } } as const

function isReceipt(stored: Partial<StoredReceipt> | null): boolean {
  return typeof stored?.key === 'string' && Number.isSafeInteger(stored.fence)
}

/** Claims whose write has failed, or could not be read back: some of them may hold. */
interface UnconfirmedClaims {
  readonly claims: readonly ReceiptClaim[]
  readonly claimId: string
}

/** One statement for each state in which receipts were found; it changes only what this claim holds. */
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
  return [statement(claims, first.claim.fence, settlementUpdate(first.settlement, { now, keepMs }))]
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

function settlementUpdate(settlement: Settlement, { now, keepMs = KEEP_MS }: SettlementTimes): object {
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
  const held = orders.flatMap(({ receipts }) =>
    receipts.filter((receipt) => isReceipt(receipt) && receipt.heldBy === claimId),
  )
  const keys = new Set(held.map(({ key }) => key))
  return claims.filter(({ receipt }) => keys.has(receipt.key))
}
