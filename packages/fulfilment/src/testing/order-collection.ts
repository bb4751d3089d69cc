import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Collection } from 'mongodb'
import { ORDER_INDEXES, ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'

export interface OrderCollection extends TestDatabase {
  readonly orders: Collection<OrderDocument>
}

/** Creates a database with the collection of orders and its indexes. */
export async function orderCollection(env: NodeJS.ProcessEnv): Promise<OrderCollection> {
  const database = await testDatabase(env)
  await ensureIndexes(database.db, [ORDER_INDEXES])
  return { ...database, orders: database.db.collection<OrderDocument>(ORDERS) }
}
