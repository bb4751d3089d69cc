import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '@oncehook/kernel/clock'
import type { Encryption } from '@oncehook/kernel/encryption'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { startProfile } from '@oncehook/kernel/testing/profile'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { type Filter, MongoClient } from 'mongodb'
import { Registry } from 'prom-client'
import { afterAll, beforeEach, describe, expect, it, type TestContext } from 'vitest'
import { DURABLE_READ } from '../durable-read.ts'
import { rotateOrders } from '../encryption/rotate-orders.ts'
import { newOrder, ORDERS, type OrderDocument, type StoredReceipt } from '../orders/stored/order-document.ts'
import { sealMembers } from '../orders/stored/order-encryption.ts'
import { applyEvents } from '../payments/apply-events.ts'
import { type OrderCollection, orderCollection } from '../testing/order-collection.ts'
import { OWING_OUTBOX } from '../testing/owing-outbox.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import type { ReceiptClaim } from './claims/receipt-claim.ts'
import { createReceiptClaims } from './claims/receipt-claims.ts'
import { listReceipts } from './list-receipts.ts'
import { readReceiptBacklog } from './receipt-backlog.ts'
import { type Receipt, type ReceiptSink, receiptRefused, type SendAttempt } from './receipt-sink.ts'
import { ReceiptWorker, type ReceiptWorkerDeps } from './receipt-worker.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { db, orders } = database
beforeEach(() => orders.deleteMany({}))

/** Claims whose next command of a kind fails. */
async function failOnce(commands: readonly string[], how: object) {
  await using resources = new AsyncDisposableStack()
  const appName = `claims-${randomUUID()}`
  const options = { appName, retryWrites: false }
  const client = resources.use(await new MongoClient(database.uri.reveal(), options).connect())
  resources.use(await armFailPoint(database.uri, { commands, appName, how }))
  const claims = createReceiptClaims(client.db(database.name), {
    leaseMs: 2_500,
    maxWaitMs: 900_000,
    newClaimId: randomUUID,
  })
  const owned = resources.move()
  return { claims, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Waits for a condition, however slow the machine is. */
function eventually<T>(read: () => T) {
  return expect.poll(read)
}

/** The receiving side: it accepts receipts and handles them as a test specifies. */
function outside(keyed = true) {
  const taken: { receipt: Receipt; attempt: SendAttempt }[] = []
  let behave: () => Promise<void> = async () => {}
  const sink: ReceiptSink = {
    keyed,
    atOnce: 32,
    async send(receipt, attempt) {
      taken.push({ receipt, attempt })
      await behave()
    },
    async close() {},
  }
  return {
    sink,
    taken,
    keys: () => taken.map(({ receipt }) => receipt.key),
    behaves: (how: typeof behave) => (behave = how),
  }
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
    guard: 'index' as const,
  }
  await applyEvents(
    deps,
    ids.map((orderId) => sampleEvent({ orderId })),
  )
  return ids
}

/** The receipts of a collection, and what pays and sends them. */
function receiptsOf(collection: OrderCollection) {
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

const { startWorker, payOrders, receiptOf, stateOf } = receiptsOf(database)

describe('ReceiptWorker', () => {
  it('sends owed receipts once, with their contents', async () => {
    const { sink, taken } = outside()
    const [id = ''] = await payOrders(1)
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    const key = (await receiptOf(id))?.key
    expect(taken.map(({ receipt }) => receipt)).toEqual([
      {
        key,
        orderId: id,
        paymentId: `pay_${id}`,
        customerId: 'cus_1',
        email: 'a@example.com',
        amount: 300,
        currency: 'EUR',
        paidAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ])
    expect(await receiptOf(id)).toMatchObject({ attempts: 1, sentAt: expect.any(Date), lastError: null })
    expect(await orders.findOne({ _id: id })).toMatchObject({ version: 2 })
  })

  it('sends each of 300 once when three workers compete', async () => {
    const { sink, keys } = outside()
    const ids = await payOrders(300)
    await using _ = startWorker(sink)
    await using __ = startWorker(sink)
    await using ___ = startWorker(sink)
    await eventually(() => orders.countDocuments({ 'receipts.state': 'sent' })).toBe(ids.length)
    expect(new Set(keys()).size).toBe(300)
    expect(keys()).toHaveLength(300)
  })

  it('is marked as being sent before the sink is called', async () => {
    const { sink, behaves } = outside()
    const states: (string | undefined)[] = []
    const [id] = await payOrders(1)
    behaves(async () => void states.push(await stateOf(id)()))
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    expect(states).toEqual(['sending'])
  })

  it('tries again under the same key when the sink fails', async () => {
    const { sink, taken, keys, behaves } = outside()
    behaves(async () => {
      if (taken.length < 3) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
    })
    const [id] = await payOrders(1)
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    expect(new Set(keys()).size).toBe(1)
    expect(taken.map(({ attempt }) => attempt.repeated)).toEqual([false, true, true])
    expect(await receiptOf(id)).toMatchObject({ attempts: 3, lastError: null })
  })

  it('completes the receipts of a worker that died while sending, under the same key', async () => {
    const { sink, taken } = outside()
    const [id] = await payOrders(1)
    const dead = createReceiptClaims(db, { leaseMs: 300, maxWaitMs: 900_000, newClaimId: randomUUID })
    const [claim] = await dead.claim(10)
    expect(await stateOf(id)()).toBe('sending')
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    expect(taken).toMatchObject([{ receipt: { key: claim?.receipt.key }, attempt: { repeated: true } }])
    await dead.settle([{ claim: claim as NonNullable<typeof claim>, settlement: { state: 'parked', code: 'late' } }])
    expect(await receiptOf(id)).toMatchObject({ state: 'sent', fence: 2 })
  })

  it('parks an attempt of unknown outcome when the sink has no keys', async () => {
    const { sink, taken } = outside(false)
    const [id] = await payOrders(1)
    await createReceiptClaims(db, { leaseMs: 100, maxWaitMs: 900_000, newClaimId: randomUUID }).claim(10)
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('parked')
    expect(taken).toEqual([])
    expect(await receiptOf(id)).toMatchObject({ lastError: { code: 'outcome_unknown' }, dueAt: null })
  })

  it('parks an attempt of unknown outcome without keys even when it may begin nothing any more', async () => {
    const { sink, taken } = outside(false)
    const [id] = await payOrders(1)
    await createReceiptClaims(db, { leaseMs: 50, maxWaitMs: 900_000, newClaimId: randomUUID }).claim(10)
    await using late = startWorker(sink, { leaseMs: 100, sendTimeoutMs: 1_000 })
    await eventually(() => late.settled.length).toBeGreaterThan(0)
    await late.worker.stop()
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('parked')
    expect(taken).toEqual([])
    expect(await receiptOf(id)).toMatchObject({ lastError: { code: 'outcome_unknown' }, dueAt: null })
  })

  it('releases a claim unchanged if it may no longer begin it: a begun attempt stays one', async () => {
    const { sink, taken } = outside()
    const [begun] = await payOrders(1)
    await createReceiptClaims(db, { leaseMs: 0, maxWaitMs: 900_000, newClaimId: randomUUID }).claim(1)
    const [owed] = await payOrders(1)
    await using late = startWorker(sink, { leaseMs: 100, sendTimeoutMs: 1_000 })
    await eventually(() => late.settled.length).toBeGreaterThan(1)
    await late.worker.stop()
    expect(await receiptOf(begun)).toMatchObject({ state: 'sending', attempts: 1 })
    expect(await receiptOf(owed)).toMatchObject({ state: 'owed', attempts: 0 })
    expect(taken).toEqual([])
  })

  it('parks an attempt that hangs when the sink has no keys, and repeats it when it has', async () => {
    const hanging = outside(false)
    hanging.behaves(() => new Promise(() => {}))
    const [id] = await payOrders(1)
    await using first = startWorker(hanging.sink, { sendTimeoutMs: 50 })
    await eventually(stateOf(id)).toBe('parked')
    await first.worker.stop()
    const keyed = outside()
    keyed.behaves(() => (keyed.taken.length === 1 ? new Promise(() => {}) : Promise.resolve()))
    const [other] = await payOrders(1)
    await using _ = startWorker(keyed.sink, { sendTimeoutMs: 50 })
    await eventually(stateOf(other)).toBe('sent')
    expect(keyed.taken).toHaveLength(2)
  })

  it('parks a receipt that the sink refuses permanently, and no other receipt waits for it', async () => {
    const { sink, taken, behaves } = outside()
    const [bad, good] = await payOrders(2)
    behaves(async () => {
      if (taken.at(-1)?.receipt.orderId === bad) throw receiptRefused()
    })
    await using _ = startWorker(sink)
    await eventually(stateOf(good)).toBe('sent')
    await eventually(stateOf(bad)).toBe('parked')
    expect(await listReceipts(orders, { limit: 5, state: 'parked' })).toMatchObject({
      items: [{ orderId: bad }],
      next: null,
    })
  })

  it('sends the receipt of an order that was deleted meanwhile', async () => {
    const { sink, taken } = outside()
    const [id = ''] = await payOrders(1)
    await orders.updateOne({ _id: id }, { $set: { status: 'deleted' }, $unset: { customerId: '', email: '' } })
    await using _ = startWorker(sink)
    await eventually(stateOf(id)).toBe('sent')
    expect(taken).toMatchObject([{ receipt: { customerId: 'cus_1', email: 'a@example.com' } }])
  })

  it('sends owed receipts even if other software wrote receipts of other orders', async () => {
    const { sink, taken } = outside(false)
    const [noList, emptyItem, whole] = await payOrders(3)
    const dueAt = new Date(0)
    await orders.updateOne({ _id: noList ?? '' }, { $set: { receipts: { dueAt } as never } })
    await orders.updateOne({ _id: emptyItem ?? '' }, { $set: { receipts: [null, { dueAt }] as never } })
    await using _ = startWorker({ ...sink, atOnce: 2 })
    await eventually(stateOf(whole)).toBe('sent')
    expect(taken.map(({ receipt }) => receipt.orderId)).toEqual([whole])
  })

  it('examines only due receipts', async () => {
    const later = new Date(Date.now() + 600_000)
    await payOrders(300)
    await orders.updateMany({}, { $set: { 'receipts.$[].dueAt': later } })
    await payOrders(2)
    const claims = createReceiptClaims(db, { leaseMs: 2_500, maxWaitMs: 900_000, newClaimId: randomUUID })
    await using profile = await startProfile(db)
    expect(await claims.claim(10)).toHaveLength(2)
    await orders.updateMany({}, { $set: { 'receipts.$[].dueAt': new Date(0) } })
    expect(await claims.claimDeferred(10, [])).toEqual([])
    const searches = (await profile.examined(ORDERS)).filter(({ plan }) => plan.includes('receipts.dueAt'))
    expect(searches).toHaveLength(2)
    for (const { keys } of searches) expect(keys).toBeLessThan(20)
  })

  it('does not wait for the next look when it is nudged', async () => {
    const { sink, taken } = outside()
    await using started = startWorker(sink, { random: () => 100 })
    await payOrders(1)
    started.worker.nudge()
    await eventually(() => taken.length).toBe(1)
  })

  it('stops after the receipts in progress, and releases those that were not started', async () => {
    const { sink, taken, behaves } = outside()
    const gate = Promise.withResolvers<void>()
    behaves(() => gate.promise)
    await payOrders(60)
    const { worker, settled } = startWorker(sink)
    await eventually(() => taken.length).toBe(32)
    const stopped = worker.stop()
    gate.resolve()
    await stopped
    expect(settled.filter((state) => state === 'sent')).toHaveLength(32)
    expect(await orders.countDocuments({ 'receipts.state': 'owed', 'receipts.attempts': 0 })).toBe(28)
    expect(await readReceiptBacklog(orders)).toMatchObject({ unsettled: 28, parked: 0 })
    behaves(async () => {})
    await using _ = startWorker(sink)
    await eventually(() => orders.countDocuments({ 'receipts.state': 'sent' })).toBe(60)
    expect(taken).toHaveLength(60)
  })
})

describe('a claim of unknown outcome', () => {
  const noMajority = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }

  it('parks no mail: nothing was sent by it', async () => {
    const { sink, taken } = outside(false)
    const ids = await payOrders(3)
    {
      await using failing = await failOnce(['update'], noMajority)
      await using worker = startWorker(sink, { claims: failing.claims, leaseMs: 2_500, sendTimeoutMs: 100 })
      await eventually(() => orders.countDocuments({ 'receipts.state': 'sent' })).toBe(3)
      await eventually(() => worker.settled).toEqual(Array(3).fill('sent'))
    }
    expect(taken.map(({ attempt }) => attempt.repeated)).toEqual([false, false, false])
    expect(await receiptOf(ids[0])).toMatchObject({ attempts: 1, state: 'sent' })
  })

  it('does not touch receipts that another worker has claimed since, even with the same fence', async () => {
    const [id] = await payOrders(1)
    await using failing = await failOnce(['update'], noMajority)
    await expect(failing.claims.claim(10)).rejects.toThrow()
    const set = { 'receipts.0.heldBy': 'another', 'receipts.0.fence': 1 }
    await orders.updateOne({ _id: id ?? '' }, { $set: set })
    expect(await failing.claims.claim(10)).toEqual([])
    expect(await receiptOf(id)).toMatchObject({ state: 'sending', heldBy: 'another', fence: 1, attempts: 1 })
  })
})

// They wait for probes, so each has its own collection, and they wait at the same time.
describe.concurrent('after an outage of the sink', () => {
  // Nothing waits for these times.
  const longWaits = { backoff: { baseMs: 600_000, capMs: 900_000 }, random: () => 0.9 }
  const down = () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' }))

  /** A collection of a test. It waits with the test's own `expect`. */
  async function openReceipts({ expect }: TestContext) {
    const own = await orderCollection(process.env)
    const receipts = receiptsOf(own)
    const count = (filter: Filter<OrderDocument>) => () => own.orders.countDocuments(filter)
    const untilSent = (sent: number) => expect.poll(count({ 'receipts.state': 'sent' })).toBe(sent)
    const untilDeferred = (deferred: number) =>
      expect.poll(count({ 'receipts.lastError.code': 'ECONNREFUSED' })).toBe(deferred)
    return {
      ...{ ...receipts, untilSent, untilDeferred },
      /** Starts a worker whose sink is down, and waits until it has deferred receipts of new orders. */
      async deferReceipts({ sink, behaves }: ReturnType<typeof outside>, deferred: number) {
        behaves(down)
        await receipts.payOrders(deferred)
        const started = receipts.startWorker(sink, longWaits)
        await untilDeferred(deferred)
        return started
      },
      [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
    }
  }

  it('all receipts follow as soon as one gets through, each once', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const failing = outside()
    const { keys, behaves } = failing
    await using _ = await receipts.deferReceipts(failing, 250)
    behaves(async () => {})
    const before = keys().length
    await receipts.payOrders(1)
    await receipts.untilSent(251)
    expect(new Set(keys().slice(before)).size).toBe(251)
    expect(keys().slice(before)).toHaveLength(251)
  })

  it('the first gets through without a new payment, also at a worker that has seen no outage', async (context) => {
    await using receipts = await openReceipts(context)
    const failing = outside()
    const first = await receipts.deferReceipts(failing, 40)
    await first.worker.stop()
    failing.behaves(async () => {})
    await using _ = receipts.startWorker(failing.sink, longWaits)
    await receipts.untilSent(40)
  })

  it('all receipts follow at each of two workers', async (context) => {
    await using receipts = await openReceipts(context)
    const [mine, yours] = [outside(), outside()]
    for (const { behaves } of [mine, yours]) behaves(down)
    await receipts.payOrders(40)
    await using _ = receipts.startWorker(mine.sink, longWaits)
    await using __ = receipts.startWorker(yours.sink, longWaits)
    await receipts.untilDeferred(40)
    for (const { behaves } of [mine, yours]) behaves(async () => {})
    await receipts.untilSent(40)
  })

  it('and while it lasts, one receipt is tried now and then, not all', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const failing = outside()
    const { taken } = failing
    await using _ = await receipts.deferReceipts(failing, 100)
    await expect.poll(() => taken.length).toBeGreaterThanOrEqual(102)
    expect(taken.length).toBeLessThan(110)
  })

  it('a receipt that the sink refused for its own sake waits for its time', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const { sink, taken, behaves } = outside(false)
    const [full = ''] = await receipts.payOrders(1)
    behaves(async () => {
      if (taken.at(-1)?.receipt.orderId === full) throw Object.assign(new Error('full'), { code: 'EENVELOPE' })
    })
    const worker = receipts.startWorker({ ...sink, ownCodes: ['EENVELOPE'] }, longWaits)
    await using _ = worker
    await expect.poll(async () => (await receipts.receiptOf(full))?.lastError?.code).toBe('EENVELOPE')
    await receipts.payOrders(20)
    worker.worker.nudge()
    await receipts.untilSent(20)
    // Longer than a worker waits for its next look, which nothing shows if it finds nothing.
    await sleep(3_000)
    expect(await receipts.receiptOf(full)).toMatchObject({ attempts: 1, state: 'owed' })
  })

  it('a receipt that may have arrived is parked, never sent before its time', async (context) => {
    const { expect } = context
    await using receipts = await openReceipts(context)
    const { sink, taken, behaves } = outside(false)
    const [hung = ''] = await receipts.payOrders(1)
    behaves(() => new Promise(() => {}))
    const worker = receipts.startWorker(sink, { ...longWaits, sendTimeoutMs: 50 })
    await using _ = worker
    await expect.poll(receipts.stateOf(hung)).toBe('parked')
    behaves(async () => {})
    await receipts.payOrders(10)
    worker.worker.nudge()
    await receipts.untilSent(10)
    // As above.
    await sleep(2_500)
    expect(taken.filter(({ receipt }) => receipt.orderId === hung)).toHaveLength(1)
  })
})

describe('receipts whose encryption key is missing', () => {
  const keys = createTestKeys()
  const gone = keys.encryption('gone')
  const claims = createReceiptClaims(db, { leaseMs: 30_000, maxWaitMs: 900_000, newClaimId: randomUUID })

  /** A worker without the key looks at them all, and ends. */
  async function letWait(count: number): Promise<void> {
    await using _ = startWorker(outside().sink, { encryption: keys.encryption('other') })
    await eventually(() => orders.countDocuments({ 'receipts.lastError.code': 'key_unknown' })).toBe(count)
  }

  async function rotate(): Promise<void> {
    const source = { db, encryption: keys.encryption('other', 'gone'), logger: memoryLogger().logger }
    expect(await rotateOrders(source, { after: null, dryRun: false })).toMatchObject({ unknown: 0, altered: 0 })
  }

  async function waitWithout(claim: ReceiptClaim | undefined): Promise<void> {
    if (claim === undefined) throw new Error('No claim')
    const { attempts } = claim.receipt
    await claims.settle([{ claim, settlement: { state: 'waiting', keyId: 'gone', attempts } }])
  }

  it('are looked at once, and delay no other, however many they are', async () => {
    await payOrders(250, gone)
    await letWait(250)
    const [healthy] = await payOrders(1)
    await using profile = await startProfile(db)
    expect((await claims.claim(10)).map(({ orderId }) => orderId)).toEqual([healthy])
    expect(await claims.claimWaiting(10, ['other'])).toEqual([])
    const searches = (await profile.examined(ORDERS)).filter(({ plan }) => plan.includes('receipts.dueAt'))
    expect(searches).toHaveLength(2)
    for (const { keys: examined } of searches) expect(examined).toBeLessThan(20)
  })

  it('are sent when the key is back, each once', async () => {
    const ids = await payOrders(250, gone)
    await letWait(250)
    expect(await receiptOf(ids[0])).toMatchObject({ state: 'owed', attempts: 0, lastError: { code: 'key_unknown' } })
    const { sink, taken } = outside()
    await using _ = startWorker(sink, { encryption: keys.encryption('other', 'gone') })
    await eventually(() => orders.countDocuments({ 'receipts.state': 'sent' })).toBe(250)
    expect(taken).toHaveLength(250)
    expect(taken.filter(({ attempt }) => attempt.repeated)).toEqual([])
    expect(await receiptOf(ids[0])).toMatchObject({ attempts: 1, lastError: null })
  })

  it('remain attempts where they were ones before', async () => {
    const [id] = await payOrders(1, gone)
    await orders.updateOne({ _id: id ?? '' }, { $set: { 'receipts.0.attempts': 2 } })
    await letWait(1)
    expect(await receiptOf(id)).toMatchObject({ attempts: 2 })
  })

  it('go to the end if their key is still missing, so that a key under a wrong id delays none of its receipts', async () => {
    const ids = await payOrders(3, gone)
    await letWait(3)
    const since = new Date(0)
    const set = { 'receipts.0.dueAt': `gone ${since.toISOString()}`, 'receipts.0.lastError.at': since }
    await orders.updateMany({}, { $set: set })
    const [first, second] = await claims.claimWaiting(2, ['other', 'gone'])
    for (const claim of [first, second]) await waitWithout(claim)
    const [third] = await claims.claimWaiting(1, ['other', 'gone'])
    expect([first, second, third].map((claim) => claim?.orderId).toSorted()).toEqual(ids.toSorted())
  })

  it('are not mistaken for those of a key whose id begins alike', async () => {
    await payOrders(1, gone)
    await letWait(1)
    expect(await claims.claimWaiting(10, ['go', 'gon', 'gone-', 'gone.2', 'GONE'])).toEqual([])
    expect(await claims.claimWaiting(10, ['gone'])).toHaveLength(1)
  })

  it('wait no longer once their addresses are encrypted by another key', async () => {
    const [id] = await payOrders(1, gone)
    await letWait(1)
    await rotate()
    const { sink } = outside()
    await using _ = startWorker(sink, { encryption: keys.encryption('other') })
    await eventually(stateOf(id)).toBe('sent')
  })

  it('do not begin to wait for a key that a rotation has replaced meanwhile', async () => {
    const [id] = await payOrders(1, gone)
    const [claim] = await claims.claim(1)
    await rotate()
    await waitWithout(claim)
    expect((await claims.claim(1)).map(({ orderId }) => orderId)).toEqual([id])
  })
})

describe('createReceiptClaims', () => {
  it('distinguishes the receipts of one order, and does not touch those of a later claim', async () => {
    const ids = await payOrders(3)
    const [id = '', ...others] = ids
    const first = await receiptOf(id)
    const second = { ...(first as StoredReceipt), key: 'rcpt_second' }
    const third = { ...second, key: 'rcpt_third', dueAt: new Date(Date.now() + 600_000) }
    await orders.updateOne({ _id: id }, { $push: { receipts: { $each: [second, third] } } })
    const claims = createReceiptClaims(db, { leaseMs: 30_000, maxWaitMs: 900_000, newClaimId: randomUUID })
    const claimed = await claims.claim(10)
    expect(claimed).toHaveLength(4)
    await orders.updateOne(
      { _id: id, 'receipts.key': 'rcpt_second' },
      { $set: { 'receipts.$.fence': 2, 'receipts.$.heldBy': 'another' } },
    )
    await claims.settle(claimed.map((claim) => ({ claim, settlement: { state: 'sent' } as const })))
    expect((await orders.findOne({ _id: id }))?.receipts).toMatchObject([
      { key: first?.key, state: 'sent', fence: 1, attempts: 1 },
      { key: 'rcpt_second', state: 'sending', fence: 2, heldBy: 'another' },
      { key: 'rcpt_third', state: 'owed', fence: 0, attempts: 0 },
    ])
    for (const other of others) expect(await stateOf(other)()).toBe('sent')
  })
})

describe('after the clock of the database was ahead', () => {
  const HOUR_MS = 3_600_000
  const claims = createReceiptClaims(db, { leaseMs: 30_000, maxWaitMs: 900_000, newClaimId: randomUUID })
  const fromNow = (ms: number): Date => new Date(Date.now() + ms)

  async function change(id: string | undefined, members: Partial<StoredReceipt>): Promise<void> {
    const named = Object.entries(members).map(([name, value]) => [`receipts.0.${name}`, value])
    const { matchedCount } = await orders.updateOne({ _id: id ?? '' }, { $set: Object.fromEntries(named) })
    expect(matchedCount).toBe(1)
  }

  it('takes receipts with a due time or a lease that is never set, and no others', async () => {
    const [owed, begun, later, held] = await payOrders(4)
    const lastError = { code: 'x', at: fromNow(HOUR_MS) }
    await change(owed, { dueAt: fromNow(HOUR_MS), lastError })
    await change(begun, { state: 'sending', dueAt: fromNow(HOUR_MS), attempts: 1 })
    await change(later, { dueAt: fromNow(890_000) })
    await change(held, { state: 'sending', dueAt: fromNow(29_000), attempts: 1 })
    const claimed = await claims.claim(10)
    expect(claimed.map(({ orderId }) => orderId).toSorted()).toEqual([owed, begun].toSorted())
    expect(await claims.claim(10)).toEqual([])
  })

  it('lets a receipt follow the others after an outage though its last attempt has yet to come', async () => {
    const [ahead, recent] = await payOrders(2)
    await change(ahead, { dueAt: fromNow(900_000), lastError: { code: 'x', at: fromNow(600_000) } })
    await change(recent, { dueAt: fromNow(900_000), lastError: { code: 'x', at: fromNow(30_000) } })
    const claimed = await claims.claimDeferred(10, [])
    expect(claimed.map(({ orderId }) => orderId)).toEqual([ahead])
  })
})

describe('listReceipts', () => {
  it('shows other receipts, and the next pages, if other software wrote some of them', async () => {
    const ids = (await payOrders(7)).toSorted()
    const key = (id: string | undefined) => ({ _id: id ?? '' })
    await orders.updateOne(key(ids[1]), { $set: { receipts: { 0: 'none' } } as never })
    await orders.updateOne(key(ids[2]), { $set: { receipts: [null, 7, { state: 'owed' }] as never } })
    await orders.updateOne(key(ids[3]), { $set: { 'receipts.0.key': 3 } as never })
    await orders.updateOne(key(ids[4]), { $set: { 'receipts.0.paidAt': 'today', 'receipts.0.sentAt': 7 } as never })
    await orders.updateOne(key(ids[5]), { $set: { 'receipts.0.lastError': { code: 'x' } } as never })
    for (const state of [undefined, 'owed'] as const) {
      const shown: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await listReceipts(orders, { limit: 1, state, after })
        shown.push(...page.items.map(({ orderId }) => orderId))
        if (page.next === null) break
        after = page.next
      }
      expect(shown).toEqual([ids[0], ids[4], ids[5], ids[6]])
    }
  })

  it('pages through all receipts once', async () => {
    const ids = await payOrders(7)
    const keys: string[] = []
    let after: string | undefined
    do {
      const page = await listReceipts(orders, { limit: 3, after })
      keys.push(...page.items.map(({ orderId }) => orderId))
      after = page.next ?? undefined
    } while (after !== undefined)
    expect(keys).toEqual(ids.toSorted())
  })

  it('shows the receipts of one order, in one state', async () => {
    const [id = '', other] = await payOrders(2)
    await orders.updateOne({ _id: other ?? '' }, { $set: { 'receipts.0.state': 'sent' } })
    expect(await listReceipts(orders, { limit: 5, orderId: id })).toMatchObject({
      items: [{ orderId: id, state: 'owed' }],
    })
    expect((await listReceipts(orders, { limit: 5, state: 'sent' })).items).toHaveLength(1)
    expect((await listReceipts(orders, { limit: 5, state: 'owed', orderId: other })).items).toEqual([])
  })
})
