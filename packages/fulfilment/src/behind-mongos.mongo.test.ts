import { createMongoConnection } from '@oncehook/kernel/mongo/connection/mongo-connection'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { Secret } from '@oncehook/kernel/secret'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { startOldMongos } from '@oncehook/kernel/testing/old-mongos'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { startReplicaSet, stopReplication } from '../../../test/support/mongod/mongod-under-test.ts'
import { parseOrderContent } from './orders/order.ts'
import { ORDER_INDEXES, ORDERS, type OrderDocument, unstoredOrder } from './orders/stored/order-document.ts'
import { insertOrder } from './orders/stored/order-store.ts'
import { commitChanges } from './payments/commit-changes.ts'
import { PAYMENTS } from './payments/guard/payment-reservation.ts'
import { reservePayments } from './payments/guard/reserve-payments.ts'
import { sampleOrder } from './testing/samples.ts'

it('behind an old mongos: nothing counts as used before a majority has stored its use', async () => {
  await using set = await startReplicaSet(3, { electionsByHand: true })
  const primary = await set.primary()
  await using mongos = await startOldMongos(primary.port)
  const { logger } = memoryLogger()
  const uri = new Secret(`mongodb://127.0.0.1:${mongos.port}/`)
  const mongo = createMongoConnection({ uri, database: 'own', appName: 'behind-mongos', maxPoolSize: 4, logger })
  await using _ = { [Symbol.asyncDispose]: () => mongo.close() }
  await mongo.open((db) => ensureIndexes(db, [ORDER_INDEXES, { collection: PAYMENTS, indexes: [] }]))
  const orders = mongo.db.collection<OrderDocument>(ORDERS)
  const insert = (id: string): Promise<boolean | string> =>
    insertOrder({ orders, encryption: NO_ENCRYPTION }, unstoredOrder(id, parseOrderContent(sampleOrder()))).then(
      (made) => made !== null,
      (error: { code: string }) => error.code,
    )
  const errors = createDatabaseErrors(new Registry())
  const paid = { provider: 'acme', id: 'pay_1' }
  const pay = (id: string) =>
    commitChanges({ db: mongo.db, errors }, [{ q: { _id: id }, u: { $push: { paidBy: paid } }, hint: { _id: 1 } }])
  const reserve = (orderId: string) =>
    reservePayments({ db: mongo.db, errors }, [{ payment: { ...paid, id: 'pay_2' }, orderId, version: 1 }])

  for (const id of ['one', 'two', 'three']) expect(await insert(id)).toBe(true)
  const replication = await stopReplication(set)
  // In parallel: each waits for the full majority timeout.
  expect(await Promise.all([insert('four'), insert('one'), reserve('one')])).toEqual([
    'unavailable',
    false,
    ['unknown'],
  ])
  // The reservation is stored, but a majority does not have it.
  const unknown = Promise.all([pay('one'), pay('two'), reserve('one'), reserve('two')])
  expect(await Promise.all([insert('four'), unknown])).toEqual(['unavailable', Array(4).fill(['unknown'])])
  await replication.resume()
  await expect.poll(() => insert('four')).toBe(false)
  await expect.poll(() => pay('three')).toEqual(['payment_used'])
  expect(await Promise.all([reserve('one'), reserve('two')])).toEqual([['reserved'], ['open']])
}, 120_000)
