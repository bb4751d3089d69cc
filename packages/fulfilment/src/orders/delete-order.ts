import { type Conditions, readConditions } from '../conditions.ts'
import { isLive, type LiveOrder, type OrderDocument } from './order-document.ts'
import { readOrder, untilUnbeaten, updateOrder } from './order-store.ts'
import type { OrderDeps } from './put-order.ts'

/** The end of an order. */
export interface DeleteRequest extends Conditions {
  readonly id: string
}

const GONE = [
  'access',
  'customerId',
  'currency',
  'items',
  'amountDue',
  'email',
  'note',
  'metadata',
  'createdAt',
  'updatedAt',
]

/**
 * Deletes an order; what is gone already, or never was, is left so, whatever the condition. A tombstone keeps the
 * version, the payments, the events applied and the receipts.
 * @throws preconditionFailed
 */
export function deleteOrder(deps: OrderDeps, { id, ...conditions }: DeleteRequest): Promise<{ deleted: boolean }> {
  const check = readConditions(conditions)
  return untilUnbeaten(deps.random, async () => {
    const found = await readOrder(deps.orders, id)
    if (!isLive(found)) return { deleted: false }
    check(found.version)
    return (await bury(deps, found)) === null ? null : { deleted: true }
  })
}

function bury({ orders }: OrderDeps, order: LiveOrder): Promise<OrderDocument | null> {
  return updateOrder(orders, order, {
    $set: { status: 'deleted' },
    $currentDate: { deletedAt: true },
    $inc: { version: 1 },
    $unset: Object.fromEntries(GONE.map((member) => [member, ''])),
  })
}
