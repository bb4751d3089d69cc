import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import type { Encryption } from '@oncehook/kernel/secrets/encryption'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { createTestKeys, NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { systemClock } from '@oncehook/kernel/time/clock'
import { type CommandStartedEvent, type Db, type Document, MongoClient } from 'mongodb'
import { Registry } from 'prom-client'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { newOrder, type StoredReceipt } from '../orders/stored/order-document.ts'
import { sealMembers } from '../orders/stored/order-encryption.ts'
import { DURABLE_READ } from '../orders/stored/order-store.ts'
import { type ApplyDeps, applyEvents } from '../payments/apply-events.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import type { ReceiptOutbox } from './claims/new-receipts.ts'
import { createReceiptClaims, DatabaseClock } from './claims/receipt-claims.ts'
import { listReceipts } from './list-receipts.ts'
import type { ReceiptSink } from './receipt-sink.ts'
import { ReceiptWorker, type ReceiptWorkerDeps } from './receipt-worker.ts'
import { createFileSink } from './sinks/file-sink.ts'

const APP_NAME = `new-receipts-${randomUUID()}`
const LEASE_MS = 600_000
// The worker looks for due receipts no sooner than this after its last look.
const POLL_MS = 500
const QUICK_MS = 2_000
const OWED = { state: 'owed', fence: 0, attempts: 0 }

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await orderCollection(process.env))
const { orders } = database
const options = { appName: APP_NAME, monitorCommands: true, retryWrites: false }
const client = stack.adopt(await new MongoClient(database.uri.reveal(), options).connect(), (one) => one.close())
const db = client.db(database.name)
beforeEach(() => orders.deleteMany({}))

/** The receiving side. Sends wait at the gate while there is one. */
function outside(members: Partial<ReceiptSink> = {}) {
  const taken: string[] = []
  const ways = { gate: Promise.resolve(), isDown: false }
  const sink: ReceiptSink = {
    keyed: true,
    atOnce: 32,
    async send({ orderId }) {
      taken.push(orderId)
      await ways.gate
      if (ways.isDown) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' })
    },
    async close() {},
    ...members,
  }
  return { sink, taken, ways }
}

/** A worker that looks for due receipts once, and later only on request. The time of the database stays fresh. */
function startWorker(sink: ReceiptSink, members: Partial<ReceiptWorkerDeps> = {}) {
  const worker = new ReceiptWorker({
    claims: claimsOf(new DatabaseClock(db, () => 0)),
    sink,
    encryption: NO_ENCRYPTION,
    backoff: { baseMs: 600_000, capMs: 900_000 },
    sendTimeoutMs: 60_000,
    leaseMs: LEASE_MS,
    random: () => 1_000,
    logger: memoryLogger().logger,
    onSettled: () => {},
    ...members,
  })
  worker.start()
  return { worker, [Symbol.asyncDispose]: () => worker.stop() }
}

function claimsOf(databaseClock: DatabaseClock) {
  return createReceiptClaims(db, { leaseMs: LEASE_MS, maxWaitMs: 900_000, newClaimId: randomUUID, databaseClock })
}

/** A worker that has sent a receipt, so that it claims the next ones as they are written. */
async function startProven(sink: ReceiptSink, members: Partial<ReceiptWorkerDeps> = {}) {
  const settled: string[] = []
  const started = startWorker(sink, { ...members, onSettled: (state) => void settled.push(state) })
  await pay(1, { receipts: started.worker })
  // Its last write is over.
  await expect.poll(() => settled).toEqual(['sent'])
  return started
}

function roomOf(worker: ReceiptWorker): number {
  const reservation = worker.reserve(1)
  reservation?.end({ held: [], unconfirmed: null })
  return reservation?.room ?? 0
}

async function insertOrders(count: number, encryption: Encryption = NO_ENCRYPTION): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `o_${randomUUID()}`)
  const made = ids.map((id) => newOrder(id, sampleOrder({ email: 'a@example.com' }), new Date()))
  await orders.insertMany(made.map((order) => sealMembers(order._id, order, encryption)))
  return ids
}

interface Payment extends Pick<ApplyDeps, 'receipts'> {
  readonly through?: Db
}

function apply(ids: readonly string[], { receipts, through = db }: Payment) {
  const errors = createDatabaseErrors(new Registry())
  const { logger } = memoryLogger()
  return applyEvents(
    { db: through, errors, clock: systemClock, logger, newCallId: randomUUID, receipts },
    ids.map((orderId) => sampleEvent({ orderId, ifMatch: '*' })),
  )
}

async function pay(count: number, payment: Payment): Promise<string[]> {
  const ids = await insertOrders(count)
  const results = await apply(ids, payment)
  expect(results).toEqual(Array(count).fill({ outcome: 'applied', version: expect.any(Number) }))
  return ids
}

async function receiptOf(id: string | undefined): Promise<StoredReceipt | undefined> {
  // As the service reads: what one majority read has seen, the next one sees too.
  return (await orders.findOne({ _id: id ?? '' }, DURABLE_READ))?.receipts[0]
}

async function stateOf(id: string | undefined): Promise<string | undefined> {
  return (await receiptOf(id))?.state
}

function countIn(state: string): Promise<number> {
  return orders.countDocuments({ 'receipts.state': state })
}

/** The new receipts as they are written. The worker may claim them directly afterwards. */
async function newReceipts(act: () => Promise<unknown>): Promise<StoredReceipt[]> {
  const commands = await commandsOf(act)
  return commands.flatMap(({ command }) => command.updates ?? []).flatMap(receiptsIn)
}

/** The receipts that a statement adds to orders, one or many. */
function receiptsIn({ u }: Document): StoredReceipt[] {
  if (!Array.isArray(u)) return u.$push?.receipts === undefined ? [] : [u.$push.receipts]
  const after: Document[] = u[0].$replaceWith.$mergeObjects[1].$arrayElemAt[0].$literal
  return after.flatMap(({ receipts }) => receipts)
}

async function commandsOf(act: () => Promise<unknown>): Promise<CommandStartedEvent[]> {
  const commands: CommandStartedEvent[] = []
  const note = (event: CommandStartedEvent): void => void commands.push(event)
  client.on('commandStarted', note)
  await act()
  client.off('commandStarted', note)
  return commands
}

describe('a new receipt', () => {
  it('is written as claimed for the worker of the same process, with a lease by the clock of the database', async () => {
    const { sink, taken, ways } = outside()
    await using started = await startProven(sink)
    const gate = Promise.withResolvers<void>()
    ways.gate = gate.promise
    const before = Date.now()
    const [id] = await pay(1, { receipts: started.worker })
    const after = Date.now()
    await expect.poll(() => taken.at(-1)).toBe(id)
    expect(await receiptOf(id)).toMatchObject({ state: 'sending', fence: 1, heldBy: expect.any(String), attempts: 1 })
    const dueAt = Number((await receiptOf(id))?.dueAt)
    // The clock of these tests stays at the last answer, which was given before.
    expect(dueAt).toBeLessThanOrEqual(after + LEASE_MS)
    expect(dueAt).toBeGreaterThan(before)
    expect(await listReceipts(orders, { limit: 5, orderId: id })).toMatchObject({
      items: [{ state: 'sending', attempts: 1, lastError: null, sentAt: null }],
    })
    gate.resolve()
    await expect.poll(() => stateOf(id)).toBe('sent')
    expect(await receiptOf(id)).toMatchObject({ fence: 1, attempts: 1, sentAt: expect.any(Date), lastError: null })
    expect(await receiptOf(id)).not.toHaveProperty('heldBy')
    expect(await receiptOf(id)).not.toHaveProperty('dueAt')
  })

  it('costs one update with its payment and one after it is sent, and no search but those of the clock', async () => {
    const { sink } = outside()
    await using started = await startProven(sink)
    let [ids, commands, tookMs]: [string[], CommandStartedEvent[], number] = [[], [], 0]
    // After so long, the worker may no longer know the time of the database: then it may search.
    for (let sent = 101; ids.length === 0 || tookMs > QUICK_MS; sent += 100) {
      const begun = performance.now()
      commands = await commandsOf(async () => {
        ids = await pay(100, { receipts: started.worker })
        await expect.poll(() => countIn('sent')).toBe(sent)
      })
      tookMs = performance.now() - begun
    }
    const updates = commands.filter(({ commandName }) => commandName === 'update')
    expect(updates.reduce((sum, { command }) => sum + command.updates.length, 0)).toBe(1 + 1)
    const polls = Math.ceil(tookMs / POLL_MS)
    expect(commands.filter(({ command }) => command.hint === 'receipts_unsettled').length).toBeLessThanOrEqual(polls)
    const once = { _id: { $in: ids }, 'receipts.fence': 1, 'receipts.attempts': 1 }
    expect(await orders.countDocuments(once)).toBe(100)
    expect(updates.map(({ command }) => isClaim(command.updates))).not.toContain(true)
  })

  it('is sent once by another worker after the lease of a process that died, as another attempt', async () => {
    const until = new Date(Date.now() + LEASE_MS)
    const dead: ReceiptOutbox = { reserve: (room) => ({ room, until, keyIds: [], end: () => {} }), nudge: () => {} }
    const [id] = await pay(1, { receipts: dead })
    const { sink, taken } = outside()
    const claims = claimsOf(new DatabaseClock(db, () => 0))
    expect(await claims.claim(10)).toEqual([])
    await orders.updateOne({ _id: id ?? '' }, { $set: { 'receipts.0.dueAt': new Date() } })
    await using _ = startWorker(sink)
    await expect.poll(() => stateOf(id)).toBe('sent')
    expect(taken).toEqual([id])
    expect(await receiptOf(id)).toMatchObject({ fence: 2, attempts: 2 })
  })
})

describe('a new receipt is written as owed', () => {
  it('beyond the number that a worker holds, and all of them are sent once', async () => {
    const { sink, taken } = outside()
    await using started = await startProven(sink)
    const ids = await insertOrders(450)
    // The worker cannot take the held ones before the call has ended.
    const owed: number[] = []
    const counting: ReceiptOutbox = {
      reserve: (most) => started.worker.reserve(most),
      nudge: () => {
        owed.push(1)
        started.worker.nudge()
      },
    }
    const written = await newReceipts(() => apply(ids, { receipts: counting }))
    expect(written.filter(({ state }) => state === 'sending')).toHaveLength(400)
    expect(written.filter(({ state }) => state === 'owed')).toHaveLength(50)
    expect(owed).toEqual([1])
    await expect.poll(() => countIn('sent')).toBe(451)
    expect(taken).toHaveLength(451)
    await expect.poll(() => roomOf(started.worker)).toBe(1)
  })

  it('for a sink without keys', async () => {
    await using started = await startProven(outside({ keyed: false }).sink)
    expect(await newReceipts(() => pay(1, { receipts: started.worker }))).toMatchObject([OWED])
  })

  it('until the worker has sent one, and while the sink fails', async () => {
    const { sink, ways } = outside()
    ways.isDown = true
    await using started = startWorker(sink)
    const { worker } = started
    const [first] = await insertOrders(1)
    expect(await newReceipts(() => apply([first ?? ''], { receipts: worker }))).toMatchObject([OWED])
    await expect.poll(async () => (await receiptOf(first))?.lastError?.code).toBe('ECONNREFUSED')
    expect(await newReceipts(() => pay(1, { receipts: worker }))).toMatchObject([OWED])
  })

  it('if the key of its address is missing, and the others are claimed', async () => {
    const keys = createTestKeys()
    await using started = await startProven(outside().sink, { encryption: keys.encryption('other') })
    const [gone] = await insertOrders(1, keys.encryption('gone'))
    const [known] = await insertOrders(1, keys.encryption('other'))
    const written = await newReceipts(() => apply([gone ?? '', known ?? ''], { receipts: started.worker }))
    expect(written).toMatchObject([OWED, { state: 'sending' }])
    await expect.poll(() => receiptOf(known)).toMatchObject({ state: 'sent', fence: 1 })
  })
})

describe('a worker that stops', () => {
  it('puts back the new receipts that it holds, also those that arrive later', async () => {
    const { sink, taken, ways } = outside({ atOnce: 1 })
    const { worker } = await startProven(sink)
    const gate = Promise.withResolvers<void>()
    ways.gate = gate.promise
    const ids = await pay(3, { receipts: worker })
    await expect.poll(() => taken).toHaveLength(2)
    const late = await insertOrders(1)
    const reservation = worker.reserve(1)
    expect(reservation?.room).toBe(1)
    worker.beginStop()
    expect(worker.reserve(1)).toBeNull()
    gate.resolve()
    await expect.poll(() => Promise.all(ids.map(stateOf))).toEqual(['sent', 'owed', 'owed'])
    await apply(late, { receipts: { reserve: () => reservation, nudge: () => {} } })
    expect(await stateOf(late[0])).toBe('sending')
    await worker.stop()
    for (const id of [ids[1], ids[2], late[0]])
      expect(await receiptOf(id)).toMatchObject({ state: 'owed', attempts: 0 })
    await using _ = startWorker(sink)
    await expect.poll(() => countIn('sent')).toBe(5)
    expect(taken).toHaveLength(5)
  })
})

describe('a claim in a write', () => {
  const noMajority = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }

  it.each([
    ['is of unknown outcome', noMajority, 'duplicate'],
    ['never reached the database', { closeConnection: true }, 'applied'],
  ])('that %s leads to one line in the file', async (_, how, outcome) => {
    await using resources = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'oncehook-'))
    resources.defer(() => rm(folder, { recursive: true }))
    const path = join(folder, 'receipts.jsonl')
    const sink = createFileSink(path)
    resources.defer(() => sink.close())
    const started = resources.use(await startProven(sink))
    const ids = await insertOrders(3)
    {
      await using __ = await armFailPoint(database.uri, { commands: ['update'], appName: APP_NAME, how })
      const refused = { refused: 'unavailable', retry: 'later' }
      expect(await apply(ids, { receipts: started.worker })).toEqual([refused, refused, refused])
    }
    expect(await apply(ids, { receipts: started.worker })).toEqual(Array(3).fill({ outcome, version: 2 }))
    await expect.poll(() => countIn('sent')).toBe(4)
    expect(await orders.countDocuments({ 'receipts.attempts': 1 })).toBe(4)
    const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
    expect(
      lines
        .map((line) => JSON.parse(line).orderId)
        .filter((id) => ids.includes(id))
        .toSorted(),
    ).toEqual(ids.toSorted())
  })

  it('that the reply does not confirm is sent once its marker is found, and one that lost is made again', async () => {
    const { sink, taken } = outside()
    await using started = await startProven(sink)
    const [won = '', lost = ''] = await insertOrders(2)
    let raced = false
    const racing = new Proxy(db, {
      get(target, member) {
        if (member !== 'command') return Reflect.get(target, member).bind(target)
        return async (command: object) => {
          if (!raced) await orders.updateOne({ _id: lost }, { $inc: { version: 1 } })
          raced = true
          return target.command(command)
        }
      },
    })
    expect(await apply([won, lost], { receipts: started.worker, through: racing })).toEqual([
      { outcome: 'applied', version: 2 },
      { outcome: 'applied', version: 3 },
    ])
    await expect.poll(() => countIn('sent')).toBe(3)
    // A receipt that was put back and claimed again would have a higher fence.
    expect(await orders.countDocuments({ 'receipts.fence': 1, 'receipts.attempts': 1 })).toBe(3)
    expect(taken.slice(1).toSorted()).toEqual([won, lost].toSorted())
  })
})

/** Whether one of these statements claims receipts that are stored already. */
function isClaim(statements: readonly { readonly u: { readonly $inc?: object } }[]): boolean {
  return statements.some(({ u }) => Object.keys(u.$inc ?? {}).some((path) => path.endsWith('.attempts')))
}
