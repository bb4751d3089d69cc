import { randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { listen } from '@oncehook/kernel/http/server/listen'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'
import { createOperatorClient, paymentEvent, startOperatedSystem, TOKENS } from '../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
/** The keys of the posted receipts, once for each post. */
const posted: unknown[] = []
const mailbox = await listen({
  host: '127.0.0.1',
  port: 0,
  handler(request, response) {
    posted.push(request.headers['idempotency-key'])
    request.resume().once('end', () => response.writeHead(204).end())
  },
})
stack.defer(() => mailbox.close(0))
const database = stack.use(await testDatabase(process.env))
const system = stack.use(
  await startOperatedSystem(database, { receiptSink: `http://127.0.0.1:${mailbox.port}/receipts` }),
)
const operator = system.operator()
const orders = system.fulfilment.db.collection<{ _id: string; receipts: { key: string }[] }>('orders')
const audit = database.db.collection('audit')
const reason = 'the customer got none'

beforeEach(async () => {
  await audit.deleteMany()
})

/** Pays an order and waits until its receipt is sent. */
async function sentReceipt(): Promise<{ orderId: string; key: string }> {
  const id = randomUUID()
  const orderId = await system.order()
  await system.deliver(paymentEvent(id, { orderId }))
  const list = async () => operator.receipts.list.query({ orderId })
  await expect.poll(list).toMatchObject({ items: [{ state: 'sent' }] })
  const { items } = await list()
  return { orderId, key: items[0]?.key ?? '' }
}

/** A receipt as the worker parks it, when it is unknown whether it was sent. */
async function parkedReceipt(): Promise<{ orderId: string; key: string }> {
  const receipt = await sentReceipt()
  const lastError = { code: 'receipt_outcome_unknown', at: new Date() }
  await orders.updateOne(
    { _id: receipt.orderId },
    { $set: { 'receipts.0.state': 'parked', 'receipts.0.dueAt': null, 'receipts.0.lastError': lastError } },
  )
  return receipt
}

function timesSent(key: string): number {
  return posted.filter((one) => one === key).length
}

describe('receipts.release', () => {
  it('sends a parked receipt under the same key, and records who is responsible', async () => {
    const { orderId, key } = await parkedReceipt()
    expect(timesSent(key)).toBe(1)
    expect(await operator.receipts.release.mutate({ key, reason })).toEqual({ key, orderId })
    await expect.poll(() => timesSent(key)).toBe(2)
    const list = async () => operator.receipts.list.query({ orderId })
    await expect.poll(list).toMatchObject({ items: [{ state: 'sent', attempts: 2, lastError: null }] })
    expect((await operator.audit.list.query()).items).toMatchObject([
      { by: 'alice', action: 'receipts.release', reason, details: { key } },
    ])
  })

  it('says that fulfilment is unavailable, and that it was called', async () => {
    const { alice } = TOKENS.operators
    await using cut = await startGateway({ database, settings: { OPERATOR_TOKENS: JSON.stringify({ alice }) } })
    const { receipts } = createOperatorClient(cut.adminUrl, alice)
    const key = 'a-key-of-nothing'
    expect(await refusalOf(receipts.release.mutate({ key, reason }))).toMatchObject({
      ...{ code: 'SERVICE_UNAVAILABLE', reason: 'unavailable' },
    })
    expect(await refusalOf(receipts.list.query())).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    const entries = await audit.find().sort({ _id: 1 }).toArray()
    expect(entries).toMatchObject([{ details: { key } }, { details: { key, unanswered: 'unavailable' } }])
  })
})

describe('receipts.releaseAll', () => {
  it('counts the parked receipts, then sends them all, with one entry in the audit log', async () => {
    const parked = [await parkedReceipt(), await parkedReceipt(), await parkedReceipt()]
    const { key: sent } = await sentReceipt()
    // Those of other tests are released as well.
    const { matched } = await operator.receipts.releaseAll.mutate({ reason, dryRun: true })
    expect(matched).toBeGreaterThanOrEqual(3)
    expect(await audit.countDocuments()).toBe(0)
    expect(parked.map(({ key }) => timesSent(key))).toEqual([1, 1, 1])
    expect(await operator.receipts.releaseAll.mutate({ reason })).toEqual({ matched, released: matched, next: null })
    await expect.poll(() => parked.map(({ key }) => timesSent(key))).toEqual([2, 2, 2])
    expect(timesSent(sent)).toBe(1)
    expect((await operator.audit.list.query()).items).toMatchObject([
      { by: 'alice', action: 'receipts.release-all', reason, details: { matched } },
    ])
    const list = async () => operator.receipts.list.query({ state: 'parked' })
    await expect.poll(list).toMatchObject({ items: [] })
    expect(await operator.receipts.releaseAll.mutate({ reason })).toEqual({ matched: 0, released: 0, next: null })
    expect(await audit.countDocuments()).toBe(1)
  })
})
