import type { LiveOrder } from '../orders/stored/order-document.ts'
import type { OrderChange } from './decide-order.ts'
import type { UpdateStatement } from './order-update.ts'
import type { PaymentState } from './transitions.ts'

/** A change of an order, and the statement that makes it. */
export interface PlannedUpdate {
  readonly change: OrderChange
  readonly statement: UpdateStatement
}

/** A statement to send, and the places of the planned updates that it makes. */
export interface SentUpdate {
  readonly statement: object
  readonly places: readonly number[]
}

// For fewer, one statement costs the server as much as one each.
const LEAST_MERGED = 4

/**
 * Merges the first payments of orders of the same version into one statement: most of what an update costs the server
 * is per statement. Each order is changed on the same conditions as by its own statement, and to the same. If the
 * server refuses a merged statement, it has made any number of the changes.
 */
export function mergeFirstPayments(planned: readonly PlannedUpdate[]): SentUpdate[] {
  const all = planned.map((one, place) => ({ ...one, place, after: afterFirstPayment(one) }))
  const groups = Map.groupBy(all, ({ statement, after, place }) => (after === null ? place : conditionsOf(statement)))
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined || group.length < LEAST_MERGED) {
      return group.map(({ statement, place }) => ({ statement, places: [place] }))
    }
    const statement = mergedStatement(
      first.statement,
      group.flatMap(({ after }) => after ?? []),
    )
    return [{ statement, places: group.map(({ place }) => place) }]
  })
}

/** The members that the first payment of an order sets. */
type AfterPayment = Pick<LiveOrder, '_id' | 'version' | 'applied' | 'receipts' | 'paidBy'> &
  Omit<PaymentState, 'paidBy'>

/** Null for any other change: only lists that were empty before are known completely after it. */
function afterFirstPayment({ change, statement }: PlannedUpdate): AfterPayment | null {
  const { order, markers: applied, state, versionsUp } = change
  const { paidBy, receipts } = statement.u.$push
  if (state === null || paidBy === undefined || receipts === undefined) return null
  if (order.applied.length > 0 || order.paidBy !== undefined) return null
  const { status, access, payment } = state
  const version = order.version + versionsUp
  return { _id: order._id, version, status, access, payment, applied, receipts: [receipts], paidBy: [paidBy] }
}

function conditionsOf({ q: { _id, ...conditions } }: UpdateStatement): string {
  return JSON.stringify(conditions)
}

function mergedStatement({ q: { _id, ...conditions }, hint }: UpdateStatement, after: readonly AfterPayment[]): object {
  const ids = after.map(({ _id }) => _id)
  // With its id, so that the server would refuse the members of another order.
  const own = { $arrayElemAt: [{ $literal: after }, { $indexOfArray: [{ $literal: ids }, '$_id'] }] }
  const empty = { receipts: { $size: 0 }, paidBy: { $exists: false } }
  const u = [{ $replaceWith: { $mergeObjects: ['$$ROOT', own, { updatedAt: '$$NOW' }] } }]
  return { q: { _id: { $in: ids }, ...conditions, ...empty }, u, multi: true, hint }
}
