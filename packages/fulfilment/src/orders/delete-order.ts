import type { Preconditions } from '@oncehook/kernel/preconditions'
import { readConditions } from '../conditions.ts'
import { orderNotFound, orderUnreadable } from '../errors.ts'
import { asLiterals, type ByPrincipal, changedBy } from './by-principal.ts'
import type { OrderDeps } from './put-order.ts'
import { forgottenReceipt } from './stored/forgotten-receipt.ts'
import { NAME_FORMER_CUSTOMERS } from './stored/former-customers.ts'
import { mapReceipts } from './stored/map-receipts.ts'
import { isForeign, isLive, type LiveOrder, type OrderDocument } from './stored/order-document.ts'
import { readOrder, retryOnConflict, updateOrder } from './stored/order-store.ts'

/** A request to delete an order. */
export interface DeleteRequest extends Preconditions, ByPrincipal {
  readonly id: string
}

/** The fields removed from a deleted order. */
export const GONE = [
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
 * Deletes an order. Succeeds without a change if the order does not exist, whatever the precondition. The tombstone
 * keeps the version, payments, applied events and receipts. The customer is removed from sent receipts.
 * @throws orderNotFound if the owner is given and has never made this order, orderUnreadable if the version is damaged,
 * preconditionFailed
 */
export function deleteOrder(
  deps: OrderDeps,
  { id, owner, principal = null, ...conditions }: DeleteRequest,
): Promise<{ deleted: boolean }> {
  const check = readConditions(conditions)
  return retryOnConflict(deps.random, async () => {
    const found = await readOrder(deps.orders, id)
    // One answer for both: otherwise a principal could find out which ids others use.
    if (isForeign(found, owner) || (found === null && owner !== undefined)) throw orderNotFound()
    if (!isLive(found)) return { deleted: false }
    if (!Number.isSafeInteger(found.version)) throw orderUnreadable({ orderId: id })
    check(found.version)
    return (await leaveTombstone(deps, found, principal)) === null ? null : { deleted: true }
  })
}

function leaveTombstone(
  { orders }: OrderDeps,
  order: LiveOrder,
  principal: string | null,
): Promise<OrderDocument | null> {
  const by = changedBy(principal)
  const isSent = { $eq: ['$$one.state', 'sent'] }
  return updateOrder(orders, order, [
    {
      $set: {
        ...{ status: 'deleted', deletedAt: '$$NOW', version: { $add: ['$version', 1] } },
        receipts: mapReceipts(isSent, forgottenReceipt('$$one')),
        ...asLiterals(by.$set),
      },
    },
    { $unset: [...GONE, ...Object.keys(by.$unset)] },
    NAME_FORMER_CUSTOMERS,
  ])
}
