import { randomUUID } from 'node:crypto'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { systemClock } from '@oncehook/kernel/time/clock'
import { Registry } from 'prom-client'
import { afterAll, expect, it } from 'vitest'
import { newOrder, ORDER_INDEXES, ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import { OWING_OUTBOX } from '../testing/owing-outbox.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { applyEvents } from './apply-events.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const appName = `fulfilment-${randomUUID()}`
const { logger } = memoryLogger()
const connection = createMongoConnection({
  ...{ uri: database.uri, database: database.name, appName, maxPoolSize: 2, logger },
})
stack.defer(() => connection.close())
await connection.open((db) => ensureIndexes(db, [ORDER_INDEXES]))
const { db } = connection

it.each([
  ['find', { errorCode: 8000 }, 'server_8000'],
  ['update', { errorCode: 8000 }, 'server_8000'],
  ['update', { writeConcernError: { code: 64, errmsg: 'waiting timed out' } }, 'write_concern_64'],
])('counts a %s that fails with %j, and the event is tried later', async (command, how, errorClass) => {
  const registry = new Registry()
  const errors = createDatabaseErrors(registry)
  const deps = {
    db,
    errors,
    clock: systemClock,
    logger,
    newCallId: randomUUID,
    receipts: OWING_OUTBOX,
  }
  const orderId = randomUUID()
  await db.collection<OrderDocument>(ORDERS).insertOne(newOrder(orderId, sampleOrder(), new Date()))
  {
    await using _ = await armFailPoint(database.uri, { commands: [command], appName, how })
    expect(await applyEvents(deps, [sampleEvent({ orderId })])).toEqual([{ refused: 'unavailable', retry: 'later' }])
  }
  expect(await applyEvents(deps, [sampleEvent({ orderId })])).toMatchObject([{ version: 2 }])
  expect(await registry.metrics()).toContain(`oncehook_database_errors_total{class="${errorClass}"} 1\n`)
})
