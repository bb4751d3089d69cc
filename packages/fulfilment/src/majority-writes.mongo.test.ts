import { randomUUID } from 'node:crypto'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createKeyRegister } from '@oncehook/kernel/mongo/key-register'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { systemClock } from '@oncehook/kernel/time/clock'
import type { CommandStartedEvent, Db } from 'mongodb'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import {
  createIdempotencyKeys,
  IDEMPOTENCY_INDEXES,
  IDEMPOTENCY_KEYS,
  type IdempotencyRow,
} from './idempotency-keys.ts'
import { deleteOrder, patchOrder, putOrder } from './orders/change-order.ts'
import { createOrder } from './orders/create-order.ts'
import { eraseOrders } from './orders/erase-orders.ts'
import { listOrders } from './orders/list-orders.ts'
import { ORDER_INDEXES, ORDERS, type OrderDocument } from './orders/stored/order-document.ts'
import { applyEvents } from './payments/apply-events.ts'
import { createReceiptClaims } from './receipts/claims/receipt-claims.ts'
import { listReceipts } from './receipts/list-receipts.ts'
import { createLogSink } from './receipts/sinks/receipt-sinks.ts'
import { fulfilmentRouter } from './router.ts'
import { OWING_OUTBOX } from './testing/owing-outbox.ts'
import { sampleEvent, sampleOrder } from './testing/samples.ts'
import { createUsedCalls } from './used-calls.ts'

const errors = createDatabaseErrors(new Registry())

const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify'])
const READS = new Set(['find', 'aggregate', 'count', 'distinct'])

it('FP-24: every write of every use of fulfilment requires a journaled majority', async () => {
  await using used = await openDatabase(WRITES)
  const { db, deps, logger, commands: writes } = used

  const idempotency = { principal: 'shop', key: 'key', fingerprint: 'print' }
  await createUsedCalls(db, systemClock)('call')
  const { order } = await createOrder(deps, { order: sampleOrder(), idempotency, callId: 'a' })
  await putOrder(deps, { id: 'o1', order: sampleOrder() })
  await putOrder(deps, { id: 'o1', order: sampleOrder({ note: 'x' }) })
  await patchOrder(deps, { id: 'o1', patch: { note: null }, ifMatch: '*' })
  await deleteOrder(deps, { id: 'o1' })
  await eraseOrders(eraseDeps(db), ['o1'])
  await putOrder(deps, { id: 'o1', order: sampleOrder() })
  await applyEvents({ ...callDeps, db, logger }, [sampleEvent({ orderId: order.id })])
  const claims = createReceiptClaims(db, { leaseMs: 60_000, maxWaitMs: 900_000, newClaimId: randomUUID })
  const claimed = await claims.claim(10)
  await claims.settle(claimed.map((claim) => ({ claim, settlement: { state: 'sent' } })))

  expect(writes.map(({ commandName }) => commandName)).toEqual([
    ...['insert', 'findAndModify', 'findAndModify', 'findAndModify'],
    ...['findAndModify', 'findAndModify', 'findAndModify', 'findAndModify', 'findAndModify', 'findAndModify'],
    ...['update', 'update', 'update'],
  ])
  for (const { command } of writes) expect(command.writeConcern).toMatchObject({ w: 'majority', j: true })
})

it('reads from the primary, with read concern majority, whatever an answer depends on', async () => {
  await using used = await openDatabase(READS)
  const { db, deps, logger, commands: reads } = used
  const { orders } = deps
  const idempotency = { principal: 'shop', key: 'key', fingerprint: 'print' }
  const register = createKeyRegister({ db, encryption: NO_ENCRYPTION, now: () => 0, processId: 'a process' })
  const get = fulfilmentRouter.createCaller({
    useCases: {
      ...{ orders: deps, payments: { ...callDeps, db, logger }, erasures: eraseDeps(db), countResult: () => {} },
      encryption: { db, encryption: NO_ENCRYPTION, logger, register },
      useCall: createUsedCalls(db, systemClock),
    },
    ifMatch: undefined,
    principal: null,
    callId: 'd',
    answer: {},
  }).orders.get

  await createOrder(deps, { order: sampleOrder(), idempotency, callId: 'a' })
  // Looks up the key without claiming it, then looks for an order whose answer was lost.
  await createOrder(deps, { order: 'no order', idempotency, callId: 'b' })
  await deps.keys.claim({ ...idempotency, key: 'unanswered' }, { run: 'run', orderId: 'o1' })
  await createOrder(deps, {
    order: sampleOrder(),
    idempotency: { ...idempotency, key: 'unanswered' },
    callId: 'c',
  }).catch(() => {})
  await putOrder(deps, { id: 'o1', order: sampleOrder() })
  await putOrder(deps, { id: 'o1', order: sampleOrder() })
  await patchOrder(deps, { id: 'o1', patch: {}, ifMatch: '*' })
  await get({ id: 'o1' })
  await listOrders(deps, { limit: 1 })
  await applyEvents({ ...callDeps, db, logger }, [sampleEvent({ orderId: 'o1' })])
  await listReceipts(orders, { limit: 1 })
  await deleteOrder(deps, { id: 'o1' })
  await deleteOrder(deps, { id: 'o1' })

  expect(reads).toHaveLength(12)
  for (const { command, commandName } of reads) {
    expect(command.readConcern, commandName).toEqual({ level: 'majority' })
    // A command without a read preference goes to the primary.
    expect(command.$readPreference?.mode ?? 'primary', commandName).toBe('primary')
  }
})

function eraseDeps(db: Db) {
  const keys = db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
  const orders = db.collection<OrderDocument>(ORDERS)
  const { logger } = memoryLogger()
  const sink = createLogSink(logger)
  return { orders, keys, keyTtlMs: 60_000, sink, encryption: NO_ENCRYPTION, logger }
}

const callDeps = { errors, clock: systemClock, newCallId: randomUUID, receipts: OWING_OUTBOX }

/** A database with its indexes, and the commands of these names sent to it afterwards. */
async function openDatabase(names: ReadonlySet<string>) {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(process.env))
  const { logger } = memoryLogger()
  const mongo = createMongoConnection({
    uri: database.uri,
    database: database.name,
    appName: 'majority-writes',
    maxPoolSize: 2,
    logger,
    monitorCommands: true,
  })
  resources.defer(() => mongo.close())
  await mongo.open((db) => ensureIndexes(db, [ORDER_INDEXES, IDEMPOTENCY_INDEXES]))
  const commands: CommandStartedEvent[] = []
  mongo.client.on('commandStarted', (event) => names.has(event.commandName) && commands.push(event))
  const { db } = mongo
  const deps = {
    orders: db.collection<OrderDocument>(ORDERS),
    encryption: NO_ENCRYPTION,
    keys: createIdempotencyKeys(db, { ttlMs: 60_000, leaseMs: 60_000, encryption: NO_ENCRYPTION }),
    random: Math.random,
    logger,
    newRunId: randomUUID,
  }
  const owned = resources.move()
  return { db, deps, logger, commands, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
