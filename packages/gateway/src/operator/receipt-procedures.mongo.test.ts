import { randomUUID } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { listen } from '@oncehook/kernel/http/server/listen'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { paymentEvent, startOperatedSystem } from '../testing/start-operated-system.ts'

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

describe('receipts.list', () => {
  it('shows the receipts of an order, and those in a state', async () => {
    const { orderId, key } = await parkedReceipt()
    expect(await operator.receipts.list.query({ state: 'parked', orderId })).toEqual({
      items: [
        {
          ...{ key, orderId, paymentId: expect.any(String), amount: 300, currency: 'EUR', paidAt: expect.any(String) },
          ...{ state: 'parked', attempts: 1, sentAt: expect.any(String) },
          lastError: { code: 'receipt_outcome_unknown', at: expect.any(String) },
        },
      ],
      next: null,
    })
    expect((await operator.receipts.list.query({ state: 'owed', orderId })).items).toEqual([])
  })

  it.each([[{ orderId: 'no/id' }], [{ after: 'no cursor' }], [{ state: 'lost' as 'sent' }], [{ limit: 0 }]])(
    'refuses %j',
    async (input) => {
      expect(await refusalOf(operator.receipts.list.query(input))).toMatchObject({ code: 'BAD_REQUEST' })
    },
  )
})

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

  it('sends one more, not two, when two people press at once, and both are in the audit log', async () => {
    const { key } = await parkedReceipt()
    const people = [system.operator('alice'), system.operator('bob')]
    const answers = await Promise.allSettled(people.map(({ receipts }) => receipts.release.mutate({ key, reason })))
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await expect.poll(() => timesSent(key)).toBe(2)
    const { items } = await operator.audit.list.query()
    expect(new Set(items.map(({ by }) => by))).toEqual(new Set(['alice', 'bob']))
    expect(items.filter(({ details }) => details.refused === 'receipt_not_parked')).toHaveLength(1)
  })

  it('does not change a receipt that is not parked, and says so', async () => {
    const { orderId, key } = await sentReceipt()
    for (const wrong of [key, 'a-key-of-nothing', '$where']) {
      expect(await refusalOf(operator.receipts.release.mutate({ key: wrong, reason }))).toMatchObject({
        ...{ code: 'NOT_FOUND', reason: 'receipt_not_parked' },
      })
    }
    expect((await operator.receipts.list.query({ orderId })).items).toMatchObject([{ state: 'sent', attempts: 1 }])
    expect(timesSent(key)).toBe(1)
  })

  it('releases one receipt of an order and none of its others', async () => {
    const { orderId, key } = await parkedReceipt()
    const order = await orders.findOne({ _id: orderId })
    const other = { ...order?.receipts[0], key: `${key}-other` }
    await orders.updateOne({ _id: orderId }, { $push: { receipts: other } })
    await operator.receipts.release.mutate({ key, reason })
    await expect.poll(() => timesSent(key)).toBe(2)
    expect((await operator.receipts.list.query({ orderId, state: 'parked' })).items).toMatchObject([{ key: other.key }])
  })

  it.each([[{ key: 'x' }], [{ key: 'x', reason: 'ab' }], [{ key: '', reason }]])('refuses %j', async (input) => {
    expect(await refusalOf(operator.receipts.release.mutate(input as never))).toMatchObject({ code: 'BAD_REQUEST' })
    expect(await audit.countDocuments()).toBe(0)
  })

  it('says that fulfilment is unavailable, and that it was called', async () => {
    await using own = await testDatabase(process.env)
    await using cut = await startOperatedSystem(own)
    await cut.fulfilment.close()
    const { receipts } = cut.operator()
    const key = 'a-key-of-nothing'
    expect(await refusalOf(receipts.release.mutate({ key, reason }))).toMatchObject({
      ...{ code: 'SERVICE_UNAVAILABLE', reason: 'unavailable' },
    })
    expect(await refusalOf(receipts.list.query())).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    const entries = await cut.db.collection('audit').find().sort({ _id: 1 }).toArray()
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

  it('continues after an order, and leaves those before it', async () => {
    const [first, last] = [await parkedReceipt(), await parkedReceipt()].toSorted((one, other) =>
      one.orderId < other.orderId ? -1 : 1,
    )
    const after = first?.orderId ?? ''
    const { released, next } = await operator.receipts.releaseAll.mutate({ reason, after })
    // Those of other tests may be among them.
    expect(released).toBeGreaterThanOrEqual(1)
    expect(next).toBeNull()
    await expect.poll(() => timesSent(last?.key ?? '')).toBe(2)
    expect((await operator.receipts.list.query({ orderId: after })).items).toMatchObject([{ state: 'parked' }])
  })

  it.each([[{}], [{ reason: 'ab' }], [{ reason, after: '' }]])('refuses %j', async (input) => {
    expect(await refusalOf(operator.receipts.releaseAll.mutate(input as never))).toMatchObject({ code: 'BAD_REQUEST' })
    expect(await audit.countDocuments()).toBe(0)
  })
})
