import { randomUUID } from 'node:crypto'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { systemClock } from '@oncehook/kernel/time/clock'
import { Registry } from 'prom-client'
import { expect } from 'vitest'
import { newOrder, type StoredReceipt } from '../orders/stored/order-document.ts'
import { sealMembers } from '../orders/stored/order-encryption.ts'
import { DURABLE_READ } from '../orders/stored/order-store.ts'
import { applyEvents } from '../payments/apply-events.ts'
import { createReceiptClaims } from '../receipts/claims/receipt-claims.ts'
import type { Receipt, ReceiptSink } from '../receipts/receipt-sink.ts'
import { ReceiptWorker, type ReceiptWorkerDeps } from '../receipts/receipt-worker.ts'
import type { OrderCollection } from './order-collection.ts'
import { OWING_OUTBOX } from './owing-outbox.ts'
import { sampleEvent, sampleOrder } from './samples.ts'

/** Waits for a condition, however slow the machine is. */
export function eventually<T>(read: () => T) {
  return expect.poll(read)
}

/** The receiving side: it accepts receipts and handles them as a test specifies. */
export function outside(keyed = true) {
  const taken: Receipt[] = []
  let behave: () => Promise<void> = async () => {}
  const sink: ReceiptSink = {
    keyed,
    atOnce: 32,
    async send(receipt) {
      taken.push(receipt)
      await behave()
    },
    async close() {},
  }
  return { sink, taken, keys: () => taken.map(({ key }) => key), behaves: (how: typeof behave) => (behave = how) }
}

type Members = Partial<ReceiptWorkerDeps> & { leaseMs?: number }

function startWorkerOn({ db }: OrderCollection, sink: ReceiptSink, members: Members) {
  const leaseMs = members.leaseMs ?? 30_000
  const settled: string[] = []
  const worker = new ReceiptWorker({
    claims: createReceiptClaims(db, { leaseMs, maxWaitMs: 900_000, newClaimId: randomUUID }),
    sink,
    encryption: NO_ENCRYPTION,
    backoff: { baseMs: 20, capMs: 50 },
    sendTimeoutMs: 1_000,
    leaseMs,
    random: Math.random,
    logger: memoryLogger().logger,
    onSettled: (state) => void settled.push(state),
    ...members,
  })
  worker.start()
  return { worker, settled, [Symbol.asyncDispose]: () => worker.stop() }
}

async function payOrdersOf({ db, orders }: OrderCollection, count: number, encryption: Encryption): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `o_${randomUUID()}`)
  const made = ids.map((id) => newOrder(id, sampleOrder({ email: 'a@example.com' }), new Date()))
  await orders.insertMany(made.map((order) => sealMembers(order._id, order, encryption)))
  const deps = {
    db,
    errors: createDatabaseErrors(new Registry()),
    clock: systemClock,
    logger: memoryLogger().logger,
    newCallId: randomUUID,
    receipts: OWING_OUTBOX,
  }
  await applyEvents(
    deps,
    ids.map((orderId) => sampleEvent({ orderId })),
  )
  return ids
}

/** The receipts of a collection, and what pays and sends them. */
export function receiptsOf(collection: OrderCollection) {
  const receiptOf = async (id: string | undefined): Promise<StoredReceipt | undefined> =>
    // As the service reads: what one majority read has seen, the next one sees too.
    (await collection.orders.findOne({ _id: id ?? '' }, DURABLE_READ))?.receipts[0]
  return {
    startWorker: (sink: ReceiptSink, members: Members = {}) => startWorkerOn(collection, sink, members),
    payOrders: (count: number, encryption = NO_ENCRYPTION) => payOrdersOf(collection, count, encryption),
    receiptOf,
    stateOf: (id: string | undefined) => async () => (await receiptOf(id))?.state,
  }
}
