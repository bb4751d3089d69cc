// Which worker sends which receipt. A claim sets a receipt to `sending` with an end of its lease on the database's clock and a fence
// that each claim raises; an outcome is written only under the fence of its claim, so a worker that was too slow changes
// nothing. A claim whose write was not confirmed is put back before the next one: none of it was sent.
import { bulkUpdate, sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Db } from 'mongodb'
import { ORDERS, type OrderDocument } from '../../orders/stored/order-document.ts'
import { type Due, findDue, isReceipt } from './find-receipts.ts'
import type { ReceiptClaim, SettledReceipt, Settlement } from './receipt-claim.ts'

/** The outbox of receipts, shared by the workers. Leases and due times use the database clock. */
export type ReceiptClaims = ReturnType<typeof createReceiptClaims>

export function createReceiptClaims(db: Db, options: ClaimOptions) {
  const { leaseMs, newClaimId } = options
  const { databaseClock = new DatabaseClock(db, () => performance.now()) } = options
  let unconfirmed: UnconfirmedClaims[] = []
  async function putBackUnconfirmed(): Promise<void> {
    if (unconfirmed.length === 0) return
    const now = await databaseClock.now()
    const statements = unconfirmed.flatMap((one) => putBackStatements(one, now))
    await sendUpdates(db, { update: ORDERS, updates: statements })
    unconfirmed = []
  }
  async function take(due: readonly Due[], now: Date): Promise<ReceiptClaim[]> {
    if (due.length === 0) return []
    const claimId = newClaimId()
    const claims = due.map(({ orderId, receipt }) => ({ orderId, receipt, fence: receipt.fence + 1 }))
    const until = new Date(now.getTime() + leaseMs)
    const statements = takeStatements(claims, { claimId, until })
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
    /**
     * Claims up to `limit` due receipts. A majority has them as `sending` when this resolves. Claims nothing after `ended` is
     * aborted. First releases earlier claims whose write was not confirmed, because none of them was sent.
     */
    async claim(limit: number, ended?: AbortSignal): Promise<ReceiptClaim[]> {
      await putBackUnconfirmed()
      const now = await databaseClock.now()
      const due = await findDue(db, { now, limit, ...options })
      return ended?.aborted ? [] : take(due, now)
    },
    /** Writes the outcomes of claimed receipts. A claim lost to a later one changes nothing. */
    async settle(settled: readonly SettledReceipt[]): Promise<void> {
      const now = await databaseClock.now()
      const groups = Map.groupBy(settled, ({ claim, settlement }) => JSON.stringify([claim.fence, settlement]))
      const statements = [...groups.values()].flatMap((group) =>
        settleStatement(group, { now, keepMs: options.keepMs }),
      )
      await bulkUpdate(db, { update: ORDERS, updates: statements })
    },
    /** Releases claims of which nobody knows whether they are stored. None of them was sent. If this fails, the next claim does it. */
    async putBack(claims: readonly UnconfirmedClaims[]): Promise<void> {
      unconfirmed.push(...claims)
      await putBackUnconfirmed()
    },
    databaseClock,
  }
}

/** The lease time, the source of claim ids, and the maximum delay of a receipt. Milliseconds. */
export interface ClaimOptions {
  readonly leaseMs: number
  readonly maxWaitMs: number
  readonly newClaimId: () => string
  /** Default: one that counts from `performance.now()`. */
  readonly databaseClock?: DatabaseClock
  /** Milliseconds that a sent receipt keeps its customer and e-mail. Default: 90 days. */
  readonly keepMs?: number | undefined
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

const KEEP_MS = 90 * 86_400_000

interface SettlementTimes {
  readonly now: Date
  /** Default: 90 days. */
  readonly keepMs?: number | undefined
}

/**
 * Claims receipts, one statement for each earlier fencing token: they are `sending` until the lease ends. The claim id
 * shows later which of them this claim holds.
 */
function takeStatements(
  claims: readonly ReceiptClaim[],
  { claimId, until }: { readonly claimId: string; readonly until: Date },
): Statement[] {
  const taken = { state: 'sending', heldBy: claimId, dueAt: until }
  const byFence = Map.groupBy(claims, ({ receipt }) => receipt.fence)
  return [...byFence].map(([fence, group]) =>
    statement(group, fence, { $set: at({ ...taken, fence: fence + 1 }), $inc: at({ attempts: 1 }) }),
  )
}

/** Claims whose write failed or could not be read back. Some of them may be stored. */
export interface UnconfirmedClaims {
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

/** The statement that writes one outcome for several claims. A claim lost to a later one changes nothing. */
function settleStatement(group: readonly SettledReceipt[], times: SettlementTimes): Statement[] {
  const [first] = group
  if (first === undefined) return []
  const claims = group.map(({ claim }) => claim)
  const update = settlementUpdate(first.settlement, times)
  const written = statement(claims, first.claim.fence, update)
  return [first.settlement.state === 'sent' ? { ...written, arrayFilters: sentFilters(written) } : written]
}

/** Each receipt has one of two times to be forgotten. */
function sentFilters({ arrayFilters: [receipts] }: Statement): readonly object[] {
  const of = (name: string, when: object): object => {
    const members = Object.entries({ ...receipts }).map(([path, value]) => [
      path.replace('receipt.', `${name}.`),
      value,
    ])
    return { ...Object.fromEntries(members), [`${name}.forgetWhenSent`]: when }
  }
  return [{ ...receipts }, of('kept', { $ne: true }), of('gone', { $eq: true })]
}

/**
 * One statement for many receipts, because the server's cost is per statement. Keys are unique, so it changes only
 * claimed receipts, and of these only the ones that have this fencing token.
 */
function statement(claims: readonly ReceiptClaim[], fence: number, u: object): Statement {
  const ids = [...new Set(claims.map(({ orderId }) => orderId))]
  const members = { key: { $in: claims.map(({ receipt }) => receipt.key) }, fence }
  const filter = Object.entries(members).map(([name, value]) => [`receipt.${name}`, value])
  return {
    q: { _id: { $in: ids }, receipts: { $elemMatch: members } },
    u,
    multi: true,
    arrayFilters: [Object.fromEntries(filter)],
    hint: { _id: 1 },
  }
}

function settlementUpdate(settlement: Settlement, { now, keepMs = KEEP_MS }: SettlementTimes): object {
  switch (settlement.state) {
    case 'sent':
      return {
        $set: {
          ...at({ state: 'sent', sentAt: now, lastError: null }),
          'receipts.$[kept].forgetAt': new Date(now.getTime() + keepMs),
          'receipts.$[gone].forgetAt': now,
        },
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

/** A later answer says more about the clock: a new primary may have another one. */
const FRESH_MS = 5_000

/** The clock of the database. Between two answers, its time is estimated from the last one. */
export class DatabaseClock {
  readonly #db: Db
  readonly #monotonicMs: () => number
  #last: { readonly askedAt: number; readonly time: number } | undefined

  /** `monotonicMs` counts milliseconds and is never set. */
  constructor(db: Db, monotonicMs: () => number) {
    this.#db = db
    this.#monotonicMs = monotonicMs
  }

  async now(): Promise<Date> {
    const askedAt = this.#monotonicMs()
    const { localTime } = await this.#db.command({ hello: 1 })
    const now = localTime as Date
    this.#last = { askedAt, time: now.getTime() }
    return now
  }

  /**
   * The time of the database as of its last answer: never behind it, and ahead of it by at most the time that the answer
   * took. Null if there was no answer in the last five seconds.
   */
  estimate(): Date | null {
    if (this.#last === undefined) return null
    const sinceMs = this.#monotonicMs() - this.#last.askedAt
    return sinceMs > FRESH_MS ? null : new Date(this.#last.time + sinceMs)
  }
}
