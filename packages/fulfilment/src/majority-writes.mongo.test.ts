import { randomBytes, randomUUID } from 'node:crypto'
import { systemClock } from '@oncehook/kernel/clock'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { CommandStartedEvent } from 'mongodb'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { createIdempotencyKeys, IDEMPOTENCY_INDEXES } from './idempotency-keys.ts'
import { createOrder } from './orders/create-order.ts'
import { deleteOrder } from './orders/delete-order.ts'
import { createOrderId } from './orders/order.ts'
import { ORDER_INDEXES, ORDERS, type OrderDocument } from './orders/order-document.ts'
import { patchOrder } from './orders/patch-order.ts'
import { putOrder } from './orders/put-order.ts'
import { applyEvents } from './payments/apply-events.ts'
import { createReceiptClaims } from './receipts/receipt-claims.ts'
import { sampleEvent, sampleOrder } from './testing/samples.ts'

const errors = createDatabaseErrors(new Registry())

const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify'])

it('FP-24: asks for a journaled majority in every write of every use', async () => {
  await using database = await testDatabase(process.env)
  const { logger } = memoryLogger()
  const mongo = createMongoConnection({
    uri: database.uri,
    database: database.name,
    appName: 'majority-writes',
    maxPoolSize: 2,
    logger,
    monitorCommands: true,
  })
  await mongo.open((db) => ensureIndexes(db, [ORDER_INDEXES, IDEMPOTENCY_INDEXES]))
  const writes: CommandStartedEvent[] = []
  mongo.client.on('commandStarted', (event) => WRITES.has(event.commandName) && writes.push(event))
  const { db } = mongo
  const orders = db.collection<OrderDocument>(ORDERS)
  const deps = {
    orders,
    keys: createIdempotencyKeys(db, { ttlMs: 60_000, leaseMs: 60_000 }),
    clock: systemClock,
    random: Math.random,
    logger,
    newOrderId: () => createOrderId(randomBytes),
    newRunId: randomUUID,
  }

  const idempotency = { principal: 'shop', key: 'key', fingerprint: 'print' }
  const { order } = await createOrder(deps, { order: sampleOrder(), idempotency })
  await putOrder(deps, { id: 'o1', order: sampleOrder() })
  await putOrder(deps, { id: 'o1', order: sampleOrder({ note: 'x' }) })
  await patchOrder(deps, { id: 'o1', patch: { note: null }, ifMatch: '*' })
  await deleteOrder(deps, { id: 'o1' })
  await putOrder(deps, { id: 'o1', order: sampleOrder() })
  const payments = { db, errors, clock: systemClock, logger, newCallId: randomUUID, onApplied: () => {} }
  await applyEvents(payments, [sampleEvent({ orderId: order.id })])
  const claims = createReceiptClaims(db, { leaseMs: 60_000, newClaimId: randomUUID })
  const claimed = await claims.claim(10)
  await claims.settle(claimed.map((claim) => ({ claim, settlement: { state: 'sent' } })))
  await mongo.close()

  expect(writes.map(({ commandName }) => commandName)).toEqual([
    ...['findAndModify', 'insert', 'findAndModify'],
    ...['insert', 'update', 'update', 'update', 'update'],
    ...['update', 'update', 'update'],
  ])
  for (const { command } of writes) expect(command.writeConcern).toMatchObject({ w: 'majority', j: true })
})
