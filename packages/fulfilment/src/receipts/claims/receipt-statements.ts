import { keyUnknown } from '@oncehook/kernel/error-codes'
import { waitingMark } from './find-receipts.ts'
import type { ReceiptClaim, SettledReceipt, SingleSettlement } from './receipt-claim.ts'

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
export function takeStatements(
  claims: readonly ReceiptClaim[],
  { claimId, until }: { readonly claimId: string; readonly until: Date },
): Statement[] {
  const taken = { state: 'sending', heldBy: claimId, dueAt: until }
  const byFence = Map.groupBy(claims, ({ receipt }) => receipt.fence)
  return [...byFence].map(([fence, group]) =>
    statement(group, { fence }, { $set: at({ ...taken, fence: fence + 1 }), $inc: at({ attempts: 1 }) }),
  )
}

/** Claims whose write failed or could not be read back. Some of them may be stored. */
export interface UnconfirmedClaims {
  readonly claims: readonly ReceiptClaim[]
  readonly claimId: string
}

/** One statement for each previous state. It changes only the receipts held by this claim. */
export function putBackStatements({ claims, claimId }: UnconfirmedClaims, now: Date): Statement[] {
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

/** The statements that write one outcome for several claims. A claim lost to a later one changes nothing. */
export function settleStatements(group: readonly SettledReceipt[], { now, keepMs }: SettlementTimes): Statement[] {
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

/** One statement of an update command. */
interface Statement {
  readonly q: object
  readonly u: object
  readonly multi: true
  readonly arrayFilters: readonly object[]
  readonly hint: object
}
