import type { Db } from 'mongodb'
import { NAME_FORMER_CUSTOMERS } from './stored/former-customers.ts'
import { walkOrders } from './walk-orders.ts'

/** The walk that indexes orders of earlier releases by former customer. */
export const FORMER_CUSTOMERS_WALK = 'orders.formerCustomers'

/**
 * Adds `formerCustomers` to orders that an earlier release deleted or moved to another customer without recording it.
 * Until the walk is done, `erase --customer` does not find these orders.
 */
export function nameFormerCustomers(db: Db, stopping: AbortSignal): Promise<void> {
  const needed = { receipts: { $elemMatch: { customerId: { $type: 'string' } } } }
  return walkOrders(db, { name: FORMER_CUSTOMERS_WALK, needed, update: [NAME_FORMER_CUSTOMERS] }, stopping)
}
