import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEncryptionKeysSource } from '@oncehook/kernel/secrets/encryption-keys'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { rotateAll } from '@oncehook/kernel/testing/rotate-all'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { createTestKeysFile } from '@oncehook/kernel/testing/test-encryption'
import { Binary, BSON } from 'mongodb'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { IDEMPOTENCY_KEYS, type IdempotencyRow } from './idempotency-keys.ts'
import { ORDERS, type OrderDocument } from './orders/stored/order-document.ts'
import { fulfilmentClient, refusalOf } from './testing/fulfilment-client.ts'
import { sampleEvent, sampleOrder } from './testing/samples.ts'
import { startFulfilment } from './testing/start-fulfilment.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const file = stack.use(await createTestKeysFile('first'))
const folder = await mkdtemp(join(tmpdir(), 'oncehook-receipts-'))
stack.defer(() => rm(folder, { recursive: true }))
const receiptsFile = join(folder, 'receipts.jsonl')
const { logger, lines } = memoryLogger()
const keysSource = createEncryptionKeysSource({ ENCRYPTION_KEYS_FILE: file.path })
const fulfilment = stack.use(
  await startFulfilment({
    ...{ uri: database.uri, database: database.name, logger, settings: { RECEIPT_SINK: `file:${receiptsFile}` } },
    encryptionKeys: keysSource,
  }),
)
const client = fulfilmentClient(fulfilment)
const { db } = fulfilment
const orders = db.collection<OrderDocument>(ORDERS)

const CANARY = 'canary-of-a-person'
const EMAIL = `${CANARY}@example.com`
const PERSONAL = { email: EMAIL, note: `for ${CANARY}`, metadata: { $name: CANARY, other: '$value' } }

let current = ['first']

async function write(...ids: string[]): Promise<void> {
  if (current.join() === ids.join()) return
  current = ids
  const changes = () => lines.filter(({ msg }) => msg === 'encryption-keys.changed').length
  const before = changes()
  await file.write(ids)
  await expect.poll(changes).toBe(before + 1)
}

/** The collections that contain a text anywhere in their bytes. */
async function findText(text: string): Promise<string[]> {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray()
  const found = collections.map(async ({ name }) => {
    const documents = await db.collection(name).find().toArray()
    return documents.some((one) => Buffer.from(BSON.serialize(one)).includes(text)) ? [name] : []
  })
  return (await Promise.all(found)).flat()
}

function keyed(fingerprint = 'print') {
  return { principal: 'shop', key: randomUUID(), fingerprint }
}

async function make(customerId: string): Promise<string> {
  const { order } = await client.orders.create.mutate({
    order: sampleOrder({ customerId, ...PERSONAL }),
    idempotency: keyed(),
  })
  return order.id
}

async function pay(orderId: string): Promise<void> {
  const event = sampleEvent({ orderId, eventId: randomUUID(), paymentId: randomUUID() })
  const { results } = await client.payments.applyEvents.mutate({ events: [event] })
  expect(results).toMatchObject([{ outcome: 'applied' }])
}

// As the service reads: what one majority read has seen, the next one sees too.
const MAJORITY_READ = { readConcern: 'majority' } as const
const stateOf = async (id: string) => (await orders.findOne({ _id: id }, MAJORITY_READ))?.receipts[0]?.state

beforeEach(async () => {
  await Promise.all([ORDERS, IDEMPOTENCY_KEYS].map((name) => db.collection(name).deleteMany({})))
  await write('first')
})

describe('fulfilment with keys', () => {
  it('stores email, note, metadata and stored answers so that none can be read without the key, and returns them', async () => {
    const idempotency = keyed()
    const input = { order: sampleOrder(PERSONAL), idempotency }
    const { order } = await client.orders.create.mutate(input)
    await client.orders.put.mutate({ id: 'ord_put', order: sampleOrder(PERSONAL) })
    await pay('ord_put')
    await expect.poll(() => stateOf('ord_put')).toBe('sent')
    expect(await findText(CANARY)).toEqual([])
    expect(await readFile(receiptsFile, 'utf8')).toContain(EMAIL)

    expect(order).toMatchObject(PERSONAL)
    expect(await client.orders.create.mutate(input)).toEqual({ order, replayed: true })
    expect(await client.orders.get.query({ id: order.id })).toEqual(order)
    expect((await client.orders.list.query({ limit: 100 })).items.map(({ email }) => email)).toEqual([EMAIL, EMAIL])
    // An equal order changes nothing, although its ciphertext would differ.
    expect(await client.orders.put.mutate({ id: order.id, order: input.order })).toMatchObject({
      order: { version: 1 },
    })
    const patched = await client.orders.patch.mutate({ id: order.id, patch: { note: CANARY }, ifMatch: '*' })
    expect(patched).toMatchObject({ ...PERSONAL, note: CANARY, version: 2 })
    await client.orders.delete.mutate({ id: order.id })
    const recreated = await client.orders.put.mutate({ id: order.id, order: sampleOrder(PERSONAL) })
    expect(recreated).toMatchObject({ created: true, order: PERSONAL })
    expect(await findText(CANARY)).toEqual([])
  })

  it('also reads records in plaintext', async () => {
    await using clear = await startFulfilment({ uri: database.uri, database: database.name })
    const made = await fulfilmentClient(clear).orders.put.mutate({ id: 'ord_clear', order: sampleOrder(PERSONAL) })
    // Proves that the searches of the other tests would find it.
    expect(await findText(CANARY)).toEqual([ORDERS])
    expect(await client.orders.get.query({ id: 'ord_clear' })).toEqual(made.order)
    await client.orders.patch.mutate({ id: 'ord_clear', patch: { note: CANARY }, ifMatch: '*' })
    expect(await findText(CANARY)).toEqual([])
  })

  it('refuses an order whose key is missing, applies its payment, and sends its receipt when the key is back', async () => {
    const id = await make('cus_gone')
    await write('second')
    expect(await refusalOf(client.orders.get.query({ id }))).toMatchObject({ reason: 'key_unknown', retry: 'later' })
    expect(await refusalOf(client.orders.list.query({}))).toMatchObject({ reason: 'key_unknown' })
    expect(await refusalOf(client.erasures.find.query({ customerId: 'cus_gone' }))).toMatchObject({
      reason: 'key_unknown',
    })
    await pay(id)
    await expect
      .poll(async () => (await client.receipts.list.query({ orderId: id })).items)
      .toMatchObject([{ state: 'owed', lastError: { code: 'key_unknown' } }])
    const metrics = async () => (await fetch(`${fulfilment.url}/metrics`)).text()
    expect(await metrics()).toMatch(/^oncehook_unknown_encryption_keys_total [1-9]/m)
    // Other tests send receipts at the same time.
    const other = await make('cus_other')
    await pay(other)
    await expect.poll(() => stateOf(other)).toBe('sent')
    await write('second', 'first')
    await expect.poll(() => stateOf(id)).toBe('sent')
    const sent = (await readFile(receiptsFile, 'utf8')).split('\n').filter((line) => line.includes(id))
    expect(sent.map((line) => JSON.parse(line).email)).toEqual([EMAIL])
    expect(await client.orders.get.query({ id })).toMatchObject(PERSONAL)
  })

  it('parks the receipt of an order that was altered', async () => {
    const id = await make('cus_altered')
    const stranger = await orders.findOne({ _id: await make('cus_stranger') })
    if (stranger === null || stranger.status === 'deleted' || stranger.email === undefined) throw new Error('No order')
    await orders.updateOne({ _id: id }, { $set: { email: stranger.email } })
    await pay(id)
    await expect.poll(() => stateOf(id)).toBe('parked')
    expect((await client.receipts.list.query({ orderId: id })).items).toMatchObject([
      { lastError: { code: 'record_altered' } },
    ])
    expect(await refusalOf(client.orders.get.query({ id }))).toMatchObject({
      reason: 'order_unreadable',
      httpStatus: 409,
    })
    const told = () => lines.filter(({ msg, orderId }) => msg === 'order.unreadable' && orderId === id).length
    expect(told()).toBe(1)
    const { items, unreadable } = await client.orders.list.query({ limit: 100 })
    expect(unreadable).toEqual([id])
    expect(items.map(({ customerId }) => customerId)).toContain('cus_stranger')
    expect(told()).toBe(2)
    expect(await client.orders.delete.mutate({ id })).toEqual({ deleted: true })
  })

  it('erases a customer whose data are encrypted', async () => {
    const id = await make('cus_erased')
    await pay(id)
    await expect.poll(() => stateOf(id)).toBe('sent')
    const found = await client.erasures.find.query({ customerId: 'cus_erased' })
    expect(found.orders).toEqual([{ id, isSettled: true }])
    await client.erasures.erase.mutate({ orderIds: [id], customerId: 'cus_erased' })
    const row = await db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS).findOne({ orderId: id })
    expect(row?.answer).toEqual(expect.stringContaining('"customerId":"erased"'))
    const left = JSON.stringify(await orders.findOne({ _id: id }), (_, value) =>
      value instanceof Binary ? 'encrypted' : value,
    )
    expect(left).not.toContain('encrypted')
    expect((await client.erasures.find.query({ customerId: 'cus_erased' })).orders).toEqual([])
  })

  it('skips malformed values in a rotation, and wraps the intact ones of the same order', async () => {
    const [id, before] = [await make('cus_malformed'), lines.length]
    const torn = { key: 'third', wrapped: 'text', text: 'text' }
    await orders.updateOne({ _id: id }, { $set: { email: torn } } as object)
    await db.collection(IDEMPOTENCY_KEYS).updateOne({ orderId: id }, { $set: { answer: torn } })
    await write('fourth', 'third', 'second', 'first')
    const rotate = (collection: 'orders' | 'idempotency_keys') =>
      rotateAll((after) => client.encryption.rotate.mutate({ collection, after, dryRun: false, key: 'fourth' }))
    expect(await rotate('orders')).toMatchObject({ unknown: 0, altered: 1 })
    expect(await rotate('idempotency_keys')).toMatchObject({ unknown: 0, altered: 1 })
    expect(await orders.findOne({ _id: id })).toMatchObject({ email: torn, note: { key: 'fourth' } })
    const named = lines.slice(before).filter(({ msg }) => msg === 'encryption.record-altered')
    expect(named).toMatchObject([{ collection: ORDERS, id }, { collection: IDEMPOTENCY_KEYS }])
  })
})
