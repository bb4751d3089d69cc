import { randomUUID } from 'node:crypto'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { startProfile } from '@oncehook/kernel/testing/profile'
import { createTestKeys } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { ORDERS } from '../orders/stored/order-document.ts'
import { rotateOrders } from '../rotate-records.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { eventually, outside, receiptsOf } from '../testing/paid-receipts.ts'
import type { ReceiptClaim } from './claims/receipt-claim.ts'
import { createReceiptClaims } from './claims/receipt-claims.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { db, orders } = database
beforeEach(() => orders.deleteMany({}))
const { startWorker, payOrders, receiptOf, stateOf } = receiptsOf(database)

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
