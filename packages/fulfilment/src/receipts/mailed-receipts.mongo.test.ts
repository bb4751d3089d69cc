import { randomUUID } from 'node:crypto'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { NO_ENCRYPTION } from '@oncehook/kernel/testing/test-encryption'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { newOrder, type StoredReceipt } from '../orders/stored/order-document.ts'
import { type MailServer, startMailServer } from '../testing/mail-server.ts'
import { orderCollection } from '../testing/order-collection.ts'
import { sampleOrder } from '../testing/samples.ts'
import { createReceiptClaims } from './claims/receipt-claims.ts'
import { ReceiptWorker } from './receipt-worker.ts'
import { createSmtpSink } from './sinks/smtp-sink.ts'

const database = await orderCollection(process.env)
afterAll(() => database[Symbol.asyncDispose]())
const { db, orders } = database
beforeEach(() => orders.deleteMany({}))

/** The connections that the sink opens at once. */
const CONNECTIONS = 4

async function oweReceipts(count: number): Promise<void> {
  const now = new Date()
  const owed = (index: number): StoredReceipt => ({
    ...{ key: `rcpt_${index}`, paymentId: `pay_${index}`, customerId: 'cus_1', email: `to${index}@example.com` },
    ...{ amount: 300, currency: 'EUR', paidAt: now, state: 'owed', fence: 0, dueAt: now, attempts: 0, sentAt: null },
    lastError: null,
  })
  const documents = Array.from({ length: count }, (_, index) => ({
    ...newOrder(`o_${index}`, sampleOrder(), now),
    receipts: [owed(index)],
  }))
  await orders.insertMany(documents)
}

function mailTo({ url }: MailServer, sendTimeoutMs: number): AsyncDisposable {
  const sink = createSmtpSink({ url, from: 'shop@example.com', requireTls: false })
  const leaseMs = 30_000
  const worker = new ReceiptWorker({
    claims: createReceiptClaims(db, { leaseMs, maxWaitMs: 900_000, newClaimId: randomUUID }),
    ...{
      sink,
      encryption: NO_ENCRYPTION,
      sendTimeoutMs,
      leaseMs,
      random: Math.random,
      backoff: { baseMs: 20, capMs: 50 },
    },
    logger: memoryLogger().logger,
    onSettled: () => {},
  })
  worker.start()
  return {
    async [Symbol.asyncDispose]() {
      await worker.stop()
      await sink.close()
    },
  }
}

function countOf(members: Partial<StoredReceipt>): Promise<number> {
  return orders.countDocuments({ receipts: { $elemMatch: members } })
}

describe('receipts by mail', () => {
  it('are marked as begun only while the server is being given them: a death leaves the others owed', async () => {
    const answer = Promise.withResolvers<void>()
    let read = 0
    await using server = await startMailServer({
      async beforeAnswer(count) {
        read = count
        await answer.promise
      },
    })
    await oweReceipts(20)
    await using _ = mailTo(server, 10_000)
    await expect.poll(() => read).toBe(CONNECTIONS)
    expect(await countOf({ state: 'sending' })).toBe(CONNECTIONS)
    expect(await countOf({ state: 'owed', attempts: 0, fence: 0 })).toBe(20 - CONNECTIONS)
    answer.resolve()
    await expect.poll(() => countOf({ state: 'sent', attempts: 1 })).toBe(20)
  })

  it('do not wait behind those that the server never answers for', async () => {
    await using server = await startMailServer({
      beforeAnswer: (read) => (read <= CONNECTIONS ? new Promise(() => {}) : Promise.resolve()),
    })
    await oweReceipts(12)
    await using _ = mailTo(server, 3_000)
    await expect.poll(() => countOf({ state: 'owed' })).toBe(0)
    await expect.poll(() => countOf({ state: 'sending' })).toBe(0)
    expect(await orders.countDocuments({ 'receipts.lastError.code': 'outcome_unknown' })).toBe(CONNECTIONS)
    expect(await countOf({ state: 'sent' })).toBe(12 - CONNECTIONS)
    expect(server.taken).toHaveLength(12 - CONNECTIONS)
  })
})
