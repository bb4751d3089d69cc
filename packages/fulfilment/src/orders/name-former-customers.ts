import type { Db } from 'mongodb'
import { NAME_FORMER_CUSTOMERS } from './former-customers.ts'
import { walkOrders } from './walk-orders.ts'

/** The walk by which orders of earlier releases are found by their former customers. */
export const FORMER_CUSTOMERS_WALK = 'orders.formerCustomers'

/**
 * Gives `formerCustomers` to the orders that an earlier release deleted or gave another customer: it named nobody there. Until
 * it is done, `erase --customer` does not find these orders.
 */
export function nameFormerCustomers(db: Db, stopping: AbortSignal): Promise<void> {
  const needed = { receipts: { $elemMatch: { customerId: { $type: 'string' } } } }
  return walkOrders(db, { name: FORMER_CUSTOMERS_WALK, needed, update: [NAME_FORMER_CUSTOMERS] }, stopping)
}
