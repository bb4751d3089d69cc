import { randomUUID } from 'node:crypto'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { MongoClient } from 'mongodb'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { StoredReceipt } from '../orders/stored/order-document.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { eventually, outside, receiptsOf } from '../testing/paid-receipts.ts'
import { createReceiptClaims } from './claims/receipt-claims.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { db, orders } = database
beforeEach(() => orders.deleteMany({}))
const { startWorker, payOrders, receiptOf, stateOf } = receiptsOf(database)

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
    expect(taken).toHaveLength(3)
    expect(await receiptOf(ids[0])).toMatchObject({ attempts: 1, state: 'sent' })
  })

  it('does not touch receipts that another worker has claimed since, even with the same fence', async () => {
    const [id] = await payOrders(1)
    await using failing = await failOnce(['update'], noMajority)
    await expect(failing.claims.claim(10)).rejects.toThrow()
    // However slow the machine is, the lease of the other worker has not ended.
    const dueAt = new Date(Date.now() + 600_000)
    const set = { 'receipts.0.heldBy': 'another', 'receipts.0.fence': 1, 'receipts.0.dueAt': dueAt }
    await orders.updateOne({ _id: id ?? '' }, { $set: set })
    expect(await failing.claims.claim(10)).toEqual([])
    expect(await receiptOf(id)).toMatchObject({ state: 'sending', heldBy: 'another', fence: 1, attempts: 1 })
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
})
