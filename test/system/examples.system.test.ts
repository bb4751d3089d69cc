import { randomUUID } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { expect, it } from 'vitest'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { type RunningExample, startExample } from '../support/examples/running-example.ts'

const FIRST_SECOND = 1_764_151_200

async function dataFolder() {
  const path = await mkdtemp(join(tmpdir(), 'oncehook-example-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** All that an example has printed, in this run and in the one before. */
async function logOf(data: string): Promise<string> {
  const files = globSync(join(data, 'logs/example.log*'))
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n')
}

async function deliverAll(example: RunningExample, events: readonly object[]): Promise<void> {
  const statuses = await Promise.all(events.map((event) => example.deliver(event)))
  expect(new Set(statuses)).toEqual(new Set([200]))
}

const STEPS = ['created', 'updated', 'deleted'] as const
const STATUSES = { created: 'active', updated: 'past_due', deleted: 'canceled' }

/** The contract is kept, also if the body is made up: a handler may refuse that for good. */
async function expectKeptContract(example: RunningExample, event: string): Promise<void> {
  const printed = await example.verifyContract(event)
  expect(printed).toMatch(/^ok {8}sends a task: expected 2xx, got 2/)
  expect(printed).toMatch(/\n11 kept, 0 not kept, 7 left out\n$/)
  expect(await example.verifyContract()).toMatch(/, 0 not kept, /)
}

/** The events about one subscription, in the order in which they happened. */
function eventsAbout(id: string, customer: string): object[] {
  return STEPS.map((step, index) => ({
    ...{ id: `evt_${randomUUID()}`, type: `customer.subscription.${step}`, livemode: false },
    created: FIRST_SECOND + index,
    data: { object: { id, customer, status: STATUSES[step] } },
  }))
}

it('subscriptions-postgres counts each event once, in any order, even if it is killed', async (context) => {
  await requireTool('postgresql', context)
  await using data = await dataFolder()
  await using first = await startExample('subscriptions-postgres', data.path)
  const ids = Array.from({ length: 30 }, () => `sub_${randomUUID()}`)
  const events = ids.flatMap((id) => eventsAbout(id, `cus of ${id}`).toReversed())
  await deliverAll(first, [...events, ...events])
  const inDatabase = async (example: RunningExample, text: string) => {
    const [, connectionString = ''] = /'(postgres:[^']+)'/.exec(example.lines.join('\n')) ?? []
    await using client = Object.assign(new pg.Client({ connectionString }), {
      [Symbol.asyncDispose]: () => client.end(),
    })
    await client.connect()
    return (await client.query(text)).rows
  }
  const changes = 'select subscription, type from subscription_changes'
  await expect.poll(() => inDatabase(first, changes)).not.toEqual([])
  await first.kill()

  await using second = await startExample('subscriptions-postgres', data.path)
  await deliverAll(second, events)
  await expect.poll(() => inDatabase(second, changes)).toHaveLength(events.length)
  const counted = await inDatabase(second, 'select distinct subscription, type from subscription_changes')
  expect(counted).toHaveLength(events.length)
  const states = await inDatabase(second, 'select id, customer, status from subscriptions')
  const wanted = ids.map((id) => ({ id, customer: `cus of ${id}`, status: 'canceled' }))
  expect(states.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual(
    wanted.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
  )
  const mailed = async () =>
    new Set(Array.from((await logOf(data.path)).matchAll(/Mail to (cus of sub_\S+): /g), ([, customer]) => customer))
  await expect.poll(mailed).toEqual(new Set(wanted.map(({ customer }) => customer)))
  await expectKeptContract(second, 'created')
  expect(await second.stop()).toBe(0)
})

it('python-fastapi adds each invoice to the credit once, even if it is killed', async (context) => {
  await requireTool('fastapi', context)
  await using data = await dataFolder()
  await using first = await startExample('python-fastapi', data.path)
  const customers = ['cus_1', 'cus_ö', 'cus_3']
  const invoices = Array.from({ length: 60 }, (_, index) => ({
    ...{ id: `evt ä ${randomUUID()}`, type: 'invoice.paid', created: FIRST_SECOND, livemode: false },
    data: { object: { id: `in_${index}`, customer: customers[index % 3], currency: 'eur', amount_paid: 100 + index } },
  }))
  await deliverAll(first, [...invoices, ...invoices])
  const inDatabase = (text: string): unknown[] => {
    const database = new DatabaseSync(join(data.path, 'credits.sqlite'), { readOnly: true })
    try {
      return database.prepare(text).all()
    } finally {
      database.close()
    }
  }
  await expect.poll(() => inDatabase('select key from keys')).not.toEqual([])
  await first.kill()

  await using second = await startExample('python-fastapi', data.path)
  await deliverAll(second, [...invoices.toReversed(), ...invoices])
  await expect.poll(() => inDatabase('select key from keys')).toHaveLength(invoices.length)
  const wanted = customers.map((customer, rest) => ({
    customer,
    amount: invoices
      .filter((_, index) => index % 3 === rest)
      .reduce((sum, { data: { object } }) => sum + object.amount_paid, 0),
  }))
  expect(inDatabase('select customer, amount from credits order by amount')).toEqual(wanted)
  await expectKeptContract(second, 'first')
  expect(await second.stop()).toBe(0)
})

it('shop-orders-mongo marks an order as paid once, by the first payment, even if it is killed', async () => {
  await using data = await dataFolder()
  await using first = await startExample('shop-orders-mongo', data.path)
  const ordersOf = async (example: RunningExample) => {
    const [, uri = ''] = /'(mongodb:[^']+)'/.exec(example.lines.join('\n')) ?? []
    const client = new MongoClient(uri)
    const db = client.db()
    return Object.assign(db.collection<{ _id: string }>('orders'), {
      db,
      [Symbol.asyncDispose]: () => client.close(),
    })
  }
  const ids = Array.from({ length: 30 }, () => `order-${randomUUID()}`)
  const payments = ids.flatMap((order) => [payment(order, 4_900), payment(order, 4_900)])
  {
    await using orders = await ordersOf(first)
    const open = { email: 'ann@shop.example', total: 4_900, currency: 'eur', status: 'open' }
    // A payment that comes before its order would be sent again after a minute.
    await orders.insertMany(ids.map((_id) => ({ _id, ...open })))
    await deliverAll(first, [...payments, ...payments, payment('order-1001', 100)])
    await expect.poll(() => orders.countDocuments({ status: 'paid' })).toBeGreaterThan(0)
  }
  await first.kill()

  await using second = await startExample('shop-orders-mongo', data.path)
  await using orders = await ordersOf(second)
  // The end of the half minute for which the killed process holds the messages that it was sending.
  await orders.db.collection('oncehook_outbox').updateMany({}, { $set: { dueAt: new Date() } })
  await deliverAll(second, payments)
  const settled = { status: 'paid', surplus: { $size: 1 } }
  await expect.poll(() => orders.countDocuments(settled)).toBe(ids.length)
  const paid = await orders.find<{ payment: { id: string }; surplus: string[] }>(settled).toArray()
  const used = paid.flatMap(({ payment: { id }, surplus }) => [id, ...surplus])
  expect(used.toSorted()).toEqual(payments.map(({ data: { object } }) => object.id).toSorted())
  expect(await orders.findOne({ _id: 'order-1001' })).toMatchObject({ status: 'open' })
  const mailed = async () =>
    new Set(Array.from((await logOf(data.path)).matchAll(/: (order-\S+) is paid/g), ([, id]) => id))
  await expect.poll(mailed).toEqual(new Set(ids))
  await expectKeptContract(second, 'paid')
  expect(await second.stop()).toBe(0)
})

function payment(order: string, amount: number) {
  const object = { id: `pi_${randomUUID()}`, amount_received: amount, currency: 'eur', metadata: { order_id: order } }
  return {
    ...{ id: `evt_${randomUUID()}`, type: 'payment_intent.succeeded', created: FIRST_SECOND, livemode: false },
    data: { object },
  }
}
