import { randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, describe, expect, it } from 'vitest'
import { createIdempotencyKeys, IDEMPOTENCY_KEYS, type IdempotencyRow, type KeyedRequest } from '../idempotency-keys.ts'
import { fulfilmentClient, refusalOf } from '../testing/fulfilment-client.ts'
import { sampleOrder } from '../testing/samples.ts'
import { startFulfilment } from '../testing/start-fulfilment.ts'
import { newOrder, ORDERS, type OrderDocument } from './stored/order-document.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const settings = { uri: database.uri, database: database.name }
const fulfilment = stack.use(await startFulfilment(settings))
const { orders } = fulfilmentClient(fulfilment)
const stored = fulfilment.db.collection<OrderDocument>(ORDERS)
const rows = fulfilment.db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS)

function keyed(members: Partial<KeyedRequest> = {}): KeyedRequest {
  return { principal: 'shop', key: randomUUID(), fingerprint: 'print', ...members }
}

function create(idempotency: KeyedRequest, order: unknown = sampleOrder()) {
  return orders.create.mutate({ order, idempotency })
}

/** The row of a run that died `beforeMs` ago. With a negative value the run is still alive. */
function runningRow(request: KeyedRequest, orderId: string, beforeMs: number): IdempotencyRow {
  const now = Date.now()
  return {
    ...request,
    orderId,
    createdAt: new Date(now - 5_000),
    state: 'running',
    run: randomUUID(),
    leaseUntil: new Date(now - beforeMs),
    expiresAt: new Date(now + 60_000),
  }
}

describe('orders.create', () => {
  it('stores no refusal: the corrected request succeeds', async () => {
    const request = keyed()
    expect(await refusalOf(create(request, { ...sampleOrder(), items: [] }))).toMatchObject({ httpStatus: 400 })
    expect((await create({ ...request, fingerprint: 'corrected' })).replayed).toBe(false)
  })

  it('says in progress while the first run is alive, and 422 to another request', async () => {
    const request = keyed()
    await rows.insertOne(runningRow(request, 'ord_reserved_a', -60_000))
    expect(await refusalOf(create(request))).toMatchObject({ reason: 'idempotency_in_progress', httpStatus: 409 })
    const other = await refusalOf(create({ ...request, fingerprint: 'other' }))
    expect(other).toMatchObject({ reason: 'idempotency_key_reused', httpStatus: 422 })
  })

  it('takes over from a run that died before it inserted the order, under the id reserved', async () => {
    const request = keyed()
    const row = runningRow(request, 'ord_reserved_b', 1)
    await rows.insertOne(row)
    const { order, replayed } = await create(request)
    expect(order).toMatchObject({ id: 'ord_reserved_b', createdAt: row.createdAt.toISOString() })
    expect(replayed).toBe(false)
    expect(await stored.countDocuments({ _id: 'ord_reserved_b' })).toBe(1)
  })

  it('recovers from a crash between order and answer: one order, answered as it was created', async () => {
    const request = keyed()
    const row = runningRow(request, 'ord_reserved_c', 1)
    await rows.insertOne(row)
    await stored.insertOne(newOrder('ord_reserved_c', sampleOrder(), row.createdAt))
    await orders.put.mutate({ id: 'ord_reserved_c', order: sampleOrder({ note: 'meanwhile' }) })
    const { order } = await create(request)
    expect(order).toMatchObject({ id: 'ord_reserved_c', version: 1 })
    expect(order).not.toHaveProperty('note')
    expect(await orders.get.query({ id: 'ord_reserved_c' })).toMatchObject({ note: 'meanwhile', version: 2 })
    expect(await create(request)).toEqual({ order, replayed: true })
  })

  it('keeps a key without an answer for a year, and counts its time from the answer, however short the setting', async () => {
    const keys = createIdempotencyKeys(fulfilment.db, { ttlMs: 1, leaseMs: 1, encryption: NO_ENCRYPTION })
    const request = keyed()
    const first = await keys.claim(request, { run: 'dead', orderId: 'ord_of_the_dead_run' })
    // The TTL index on expiresAt removes rows with such a time.
    const inMonths = { $expr: { $gt: ['$expiresAt', { $add: ['$$NOW', 360 * 86_400_000] }] } }
    expect(await rows.countDocuments({ key: request.key, ...inMonths })).toBe(1)
    await expect.poll(() => rows.countDocuments({ key: request.key, ...LONG_OVER })).toBe(1)
    const second = await keys.claim(request, { run: 'retry', orderId: 'ord_of_the_retry' })
    expect(second).toMatchObject({ run: 'retry', orderId: first.orderId })
    const longer = { ttlMs: 60_000, leaseMs: 1, encryption: NO_ENCRYPTION }
    await createIdempotencyKeys(fulfilment.db, longer).finish(second, '{}')
    const { expiresAt } = (await rows.findOne({ key: request.key })) ?? {}
    await keys.finish(second, '{}')
    expect(await rows.findOne({ key: request.key })).toMatchObject({ state: 'done', expiresAt })
    expect(await rows.countDocuments({ key: request.key, $expr: { $gt: ['$expiresAt', '$$NOW'] } })).toBe(1)
  })
})

const LONG_OVER = { $expr: { $lt: [{ $add: ['$leaseUntil', 20] }, '$$NOW'] } }
