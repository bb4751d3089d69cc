import { hash, randomUUID } from 'node:crypto'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, describe, expect, it } from 'vitest'
import { createIdempotencyKeys, IDEMPOTENCY_KEYS, type IdempotencyRow, type KeyedRequest } from '../idempotency-keys.ts'
import { rotateAnswers } from '../rotate-records.ts'
import { fulfilmentClient, refusalOf } from '../testing/fulfilment-client.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { startFulfilment } from '../testing/start-fulfilment.ts'
import { type Created, createOrder } from './create-order.ts'
import { ORDERS, type OrderDocument } from './stored/order-document.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const fulfilment = stack.use(await startFulfilment({ uri: database.uri, database: database.name }))
const { orders, payments, erasures } = fulfilmentClient(fulfilment)
const stored = fulfilment.db.collection<OrderDocument>(ORDERS)

const { logger } = memoryLogger()

const newCustomer = (): string => `cus_${randomUUID()}`

async function makeOrder(customerId: string): Promise<string> {
  const id = `o_${randomUUID()}`
  await orders.put.mutate({ id, order: sampleOrder({ customerId, email: 'a@example.com' }) })
  return id
}

async function paidOrder(customerId: string): Promise<string> {
  const id = await makeOrder(customerId)
  await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
  const isSent = () => stored.countDocuments({ _id: id, 'receipts.state': 'sent' })
  await expect.poll(isSent).toBe(1)
  return id
}

/** Erases the orders found for a customer, as the gateway does. */
async function erase(customerId: string): Promise<string[]> {
  const found = await erasures.find.query({ customerId })
  const orderIds = found.orders.map(({ id }) => id)
  await erasures.erase.mutate({ orderIds, customerId })
  return orderIds
}

describe('to erase a customer', () => {
  it('keeps an order that has another customer now, without the data of the first one', async () => {
    const [first, second] = [newCustomer(), newCustomer()]
    const id = await paidOrder(first)
    const patch = { customerId: second, email: 'b@example.com' }
    const { version } = await orders.patch.mutate({ id, patch, ifMatch: '*' })
    expect(await erase(first)).toEqual([id])
    expect(await orders.get.query({ id })).toMatchObject({ ...patch, status: 'paid', version })
    const after = await stored.findOne({ _id: id })
    expect(after).toMatchObject({ receipts: [{ state: 'sent', customerId: null, email: null }] })
    expect(after).not.toHaveProperty('formerCustomers')
    expect(await erase(first)).toEqual([])
    expect(await erase(second)).toEqual([id])
    expect(await stored.findOne({ _id: id })).toMatchObject({ status: 'deleted', version: version + 1 })
  })

  it('lets a payment apply to an order that was made for the customer and is for another one now', async () => {
    const [first, second] = [newCustomer(), newCustomer()]
    const made = await orders.create.mutate({
      order: sampleOrder({ customerId: first, email: 'a@example.com' }),
      idempotency: { principal: 'shop', key: randomUUID(), fingerprint: hash('sha256', first) },
    })
    const { id } = made.order
    await orders.patch.mutate({ id, patch: { customerId: second }, ifMatch: '*' })
    expect(await erase(first)).toEqual([id])
    const paid = await payments.applyEvents.mutate({ events: [sampleEvent({ orderId: id, ifMatch: '*' })] })
    expect(paid.results).toMatchObject([{ outcome: 'applied' }])
    const row = await fulfilment.db.collection('idempotency_keys').findOne({ orderId: id })
    expect(JSON.stringify(row)).not.toContain(first)
  })

  it('keeps the receipts of another customer of the same order', async () => {
    const [first, second] = [newCustomer(), newCustomer()]
    const id = await paidOrder(first)
    await orders.patch.mutate({ id, patch: { customerId: second }, ifMatch: '*' })
    expect(await erase(second)).toEqual([id])
    expect(await stored.findOne({ _id: id })).toMatchObject({
      ...{ status: 'deleted', formerCustomers: [first], receipts: [{ customerId: first }] },
    })
    expect(await erase(first)).toEqual([id])
    expect(JSON.stringify(await stored.findOne({ _id: id }))).not.toContain(first)
  })
})

describe('an order whose key has no answer yet', () => {
  const rows = fulfilment.db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
  const TTL_MS = 86_400_000
  const keyedFor = (customerId: string) => ({
    order: sampleOrder({ customerId, email: 'a@example.com', note: customerId, metadata: { name: customerId } }),
    idempotency: { principal: 'shop', key: randomUUID(), fingerprint: hash('sha256', customerId) } as KeyedRequest,
  })

  /** Creates an order whose answer is stored only when the gate opens. Resolves when it waits there. */
  async function createUpToGate(input: ReturnType<typeof keyedFor>, encryption = NO_ENCRYPTION) {
    const [waiting, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const keys = createIdempotencyKeys(fulfilment.db, { ttlMs: TTL_MS, leaseMs: 60_000, encryption })
    const created: Promise<Created> = createOrder(
      {
        ...{ orders: stored, encryption, random: Math.random, logger },
        keys: {
          ...keys,
          async finish(...args) {
            waiting.resolve()
            await gate.promise
            return await keys.finish(...args)
          },
        },
        newRunId: randomUUID,
      },
      { ...input, callId: randomUUID() },
    )
    await waiting.promise
    const row = await rows.findOne({ key: input.idempotency.key })
    return { orderId: row?.orderId ?? '', created, open: gate.resolve }
  }

  it('is erased permanently: neither the run that is still at work nor a repetition stores the answer', async () => {
    const customer = newCustomer()
    const input = keyedFor(customer)
    const { orderId, created, open } = await createUpToGate(input)
    expect(await erase(customer)).toEqual([orderId])
    expect(await refusalOf(orders.create.mutate(input))).toMatchObject({ reason: 'order_unreadable' })
    const answer = { $ifNull: ['$answer', { $literal: JSON.stringify({ customerId: customer }) }] }
    await rows.updateOne({ orderId }, [{ $set: { state: 'done', answer } }])
    open()
    await expect(created).rejects.toMatchObject({ code: 'order_unreadable' })
    const row = await rows.findOne({ orderId })
    expect(row).toMatchObject({ answer: '{"customerId":"erased"}', state: 'done', customerId: null })
    const leftMs = Number(row?.expiresAt) - Date.now()
    expect(Math.abs(leftMs - TTL_MS)).toBeLessThan(60_000)
    expect(await refusalOf(orders.create.mutate(input))).toMatchObject({ reason: 'order_unreadable' })
    const other = { ...input, idempotency: { ...input.idempotency, fingerprint: 'other' } }
    expect(await refusalOf(orders.create.mutate(other))).toMatchObject({ reason: 'idempotency_key_reused' })
    expect(await erasures.find.query({ orderIds: [orderId] })).toEqual({ orders: [] })
    expect(JSON.stringify(await rows.findOne({ orderId }))).not.toContain(customer)
  })

  it('is erased permanently with encryption too, and after a rotation', async () => {
    const customer = newCustomer()
    const input = keyedFor(customer)
    const encryption = createTestKeys().encryption('one')
    const { orderId, created, open } = await createUpToGate(input, encryption)
    expect(await erase(customer)).toEqual([orderId])
    await rotateAnswers({ db: fulfilment.db, encryption, logger }, { after: null, dryRun: false })
    const row = await rows.findOne({ orderId })
    expect(row?.answer).toMatchObject({ key: 'one' })
    open()
    await expect(created).rejects.toMatchObject({ code: 'order_unreadable' })
    expect((await rows.findOne({ orderId }))?.answer).toEqual(row?.answer)
  })
})

describe('a new customer of an order', () => {
  it('is stored as it was written, even if it looks like an expression', async () => {
    const id = await makeOrder('$email')
    const order = sampleOrder({
      customerId: '$$NOW',
      note: '$email',
      metadata: { $set: '$note' },
      email: 'a@example.com',
    })
    await orders.put.mutate({ id, order })
    expect(await orders.get.query({ id })).toMatchObject(order)
  })
})
