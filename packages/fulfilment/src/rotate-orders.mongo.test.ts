import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys } from '@oncehook/kernel/testing/test-encryption'
import type { Db } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { newOrder, ORDERS, type OrderDocument, type StoredReceipt } from './orders/stored/order-document.ts'
import { sealMembers } from './orders/stored/order-encryption.ts'
import { decideOrder } from './payments/decide-order.ts'
import { orderUpdate } from './payments/order-update.ts'
import { eventHash } from './payments/payment-event.ts'
import { releaseReceipt } from './receipts/release-receipt.ts'
import { rotateOrders } from './rotate-records.ts'
import { sampleEvent, sampleOrder } from './testing/samples.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
const keys = createTestKeys()
const orders = db.collection<OrderDocument>(ORDERS)

/** A database that does something else before its first command. */
function interrupted(between: () => Promise<unknown>): Db {
  let pending: Promise<unknown> | null = null
  const command: Db['command'] = async (...args) => {
    pending ??= between()
    await pending
    return await db.command(...args)
  }
  return new Proxy(db, { get: (_, name) => (name === 'command' ? command : Reflect.get(db, name, db)) })
}

it('also rewraps the address of a receipt that is released while its order is rotated', async () => {
  const sealed = (email: string) => sealMembers('o1', { email }, keys.encryption('old')).email ?? null
  const parked: StoredReceipt = {
    ...{ key: 'r1', paymentId: 'p1', customerId: 'cus_1', email: sealed('former@example.com'), amount: 300 },
    ...{ currency: 'EUR', paidAt: new Date(), state: 'parked', fence: 1, dueAt: null, attempts: 1, sentAt: null },
    lastError: { code: 'receipt_refused', at: new Date() },
  }
  const order = newOrder('o1', sampleOrder(), new Date())
  await orders.insertOne({ ...order, email: sealed('current@example.com') ?? '', receipts: [parked] })
  const part = await rotateOrders(
    {
      db: interrupted(() => releaseReceipt(orders, 'r1')),
      encryption: keys.encryption('new', 'old'),
      logger: memoryLogger().logger,
    },
    { after: null, dryRun: false },
  )
  expect(part).toMatchObject({ next: null, unknown: 0, altered: 0 })
  expect(await orders.findOne({ _id: 'o1' })).toMatchObject({
    email: { key: 'new' },
    receipts: [{ state: 'owed', email: { key: 'new' } }],
  })
})

it('leaves no plain text to a payment that was decided before the order was encrypted', async () => {
  const order = { ...newOrder('o2', sampleOrder(), new Date()), email: 'a@example.com' }
  await orders.insertOne(order)
  const event = sampleEvent({ orderId: 'o2' })
  const decided = decideOrder(order, [{ ...event, hash: eventHash(event) }], { now: new Date(), call: 'call_1' })
  if (decided.change === null) throw new Error('Nothing changes')
  const { logger } = memoryLogger()
  await rotateOrders({ db, encryption: keys.encryption('new'), logger }, { after: 'o1', dryRun: false })
  const { hint: _, ...statement } = orderUpdate(decided.change, null)
  expect(await db.command({ update: ORDERS, updates: [statement] })).toMatchObject({ n: 0 })
  expect(await orders.findOne({ _id: 'o2' })).toMatchObject({ email: { key: 'new' }, receipts: [] })
})
