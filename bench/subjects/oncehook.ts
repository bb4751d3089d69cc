import { setTimeout as sleep } from 'node:timers/promises'
import { type LiveOrder, newOrder, ORDERS } from '@oncehook/fulfilment/orders/order-document'
import { EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import type { Db } from 'mongodb'
import { PRICE } from '../load/signed-deliveries.ts'
import { describeSystem } from './describe-system.ts'
import { type Service, startService } from './service.ts'
import { DURABLE, type Laboratory, type Subject } from './subject.ts'

const POLL_MS = 20
const SETTLE_TIMEOUT_MS = 60_000

/** Starts the gateway alone: fulfilment is away, and everything waits for it as it would then. */
export async function startAccepting(laboratory: Laboratory, run: string): Promise<Subject> {
  const system = await describeSystem(laboratory, run)
  const gateway = await startService(system.gateway)
  const db = laboratory.database(system.gatewayDb)
  return {
    url: system.url,
    receiverPid: gateway.pid,
    keptIds: async () => new Set(await db.collection(EVENTS).distinct('eventId')),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await db.dropDatabase()
    },
  }
}

/** Starts the gateway and fulfilment: each event pays an order that is there already. */
export async function startPaying(laboratory: Laboratory, run: string): Promise<Subject> {
  const system = await describeSystem(laboratory, run)
  const fulfilment = await startService(system.fulfilment)
  const gateway = await startService(system.gateway).catch((error) => stopAndThrow(fulfilment, error))
  const db = laboratory.database(system.gatewayDb)
  const orders = laboratory.database(system.fulfilmentDb)
  return {
    url: system.url,
    receiverPid: gateway.pid,
    fulfilmentPid: fulfilment.pid,
    prepare: (orderPrefix, count) => insertOrders(orders, orderPrefix, count),
    settled: () => waitUntilSettled(db),
    keptIds: () => appliedIds(db, orders),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await fulfilment[Symbol.asyncDispose]()
      await Promise.all([db.dropDatabase(), orders.dropDatabase()])
    },
  }
}

async function stopAndThrow(service: Service, error: unknown): Promise<never> {
  await service[Symbol.asyncDispose]()
  throw error
}

/** Written past fulfilment, in the form that it stores: making orders is not what is measured. */
async function insertOrders(db: Db, prefix: string, count: number): Promise<void> {
  const items = [{ sku: 'sku-1', quantity: 1, unitAmount: PRICE.amount }]
  const content = { customerId: 'customer-1', currency: PRICE.currency, items }
  const now = new Date()
  const orders = Array.from({ length: count }, (_, index) => newOrder(`${prefix}${index}`, content, now))
  await db.collection<LiveOrder>(ORDERS).insertMany(orders, { ordered: false, writeConcern: DURABLE })
}

async function waitUntilSettled(db: Db): Promise<void> {
  const events = db.collection<EventDocument>(EVENTS)
  const deadline = performance.now() + SETTLE_TIMEOUT_MS
  for (;;) {
    // One state a query, for each has an index of its own.
    const open = (await events.findOne({ state: 'processing' })) ?? (await events.findOne({ state: 'pending' }))
    if (open === null) return
    if (performance.now() > deadline) throw new Error('Events were not settled within a minute')
    await sleep(POLL_MS)
  }
}

/** Events that are settled as done and whose order is paid by the payment that they tell of. */
async function appliedIds(db: Db, orders: Db): Promise<Set<string>> {
  const paid = await orders.collection<LiveOrder>(ORDERS).distinct('payment.id', { status: 'paid' })
  const paying = new Set(paid)
  const done = db.collection<EventDocument>(EVENTS).find({ state: 'done' }, { projection: { eventId: 1, objectId: 1 } })
  const kept = new Set<string>()
  for await (const { eventId, objectId } of done) if (paying.has(objectId)) kept.add(eventId)
  return kept
}
