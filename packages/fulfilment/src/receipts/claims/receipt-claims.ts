import { bulkUpdate, sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Db } from 'mongodb'
import { ORDERS, type OrderDocument } from '../../orders/stored/order-document.ts'
import { DatabaseClock } from './database-clock.ts'
import { type Due, findDeferred, findDue, findWaiting, isReceipt, triedAt } from './find-receipts.ts'
import type { ReceiptClaim, SettledReceipt } from './receipt-claim.ts'
import { putBackStatements, settleStatements, takeStatements, type UnconfirmedClaims } from './receipt-statements.ts'

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
  settle(settled: readonly SettledReceipt[]): Promise<void>
  /**
   * Releases claims for which it is unknown whether they are stored. None of them was sent. If this fails, the next
   * claim does it.
   */
  putBack(claims: readonly UnconfirmedClaims[]): Promise<void>
  /** The clock that all of them ask. */
  readonly databaseClock: DatabaseClock
}

/** Creates the claims of one worker. */
export function createReceiptClaims(db: Db, options: ClaimOptions): ReceiptClaims {
  const { leaseMs, newClaimId } = options
  const { databaseClock = new DatabaseClock(db, () => performance.now()) } = options
  let unconfirmed: UnconfirmedClaims[] = []
  // A look for due receipts has usually asked just before.
  const recentNow = async (): Promise<Date> => databaseClock.estimate() ?? (await databaseClock.now())
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
    async claim(limit, ended) {
      await putBackUnconfirmed()
      const now = await databaseClock.now()
      const due = await findDue(db, { now, limit, ...options })
      return ended?.aborted ? [] : take(due, now)
    },
    async claimDeferred(limit, exceptCodes) {
      const now = await recentNow()
      return take(await findDeferred(db, { now, limit, exceptCodes }), now)
    },
    async claimWaiting(limit, keyIds) {
      const now = await recentNow()
      const found = (await Promise.all(keyIds.map((keyId) => findWaiting(db, keyId, limit)))).flat()
      return take(found.toSorted((one, other) => triedAt(one) - triedAt(other)).slice(0, limit), now)
    },
    async settle(settled) {
      const now = await databaseClock.now()
      const groups = Map.groupBy(settled, ({ claim, settlement }) => JSON.stringify([claim.fence, settlement]))
      const statements = [...groups.values()].flatMap((group) =>
        settleStatements(group, { now, keepMs: options.keepMs }),
      )
      await bulkUpdate(db, { update: ORDERS, updates: statements })
    },
    async putBack(claims) {
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
