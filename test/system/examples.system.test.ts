import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { expect, it } from 'vitest'
import { requireTool } from '../../scripts/tools/find-tool.ts'
import { sampleTask } from '../contract/sample-task.ts'
import { type RunningExample, startExample } from '../support/examples/running-example.ts'

const run = promisify(execFile)
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

/** The database of an example with PostgreSQL. */
async function connect(example: RunningExample) {
  const [, connectionString = ''] = /'(postgres:[^']+)'/.exec(example.lines.join('\n')) ?? []
  const client = new pg.Client({ connectionString })
  client.on('error', () => undefined) // the server ends when the example is killed
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

async function inDatabase(example: RunningExample, text: string) {
  await using client = await connect(example)
  return (await client.query(text)).rows
}

/** The contract is kept, also if the body is made up: a handler may refuse that for good. */
async function expectKeptContract(example: RunningExample, event: string): Promise<void> {
  const printed = await example.verifyContract(event)
  expect(printed).toMatch(/^ok {8}sends a task: expected 2xx, got 2/)
  expect(printed).toMatch(/\n11 kept, 0 not kept, 0 left out\n$/)
  expect(await example.verifyContract()).toMatch(/, 0 not kept, /)
}

/** A gateway that has lost its record sends a task that is done again. Another body under its key is still refused. */
async function expectDoneAgain(example: RunningExample, type: string, event: object): Promise<void> {
  const send = (seconds: string, body: string) =>
    example.call(
      sampleTask({ eventId: 'done', type, receivedAt: `2026-11-26T10:00:${seconds}Z`, raw: Buffer.from(body) }),
    )
  const body = JSON.stringify(event)
  const statuses = [await send('01', body), await send('02', body), await send('02', `{ ${body.slice(1)}`)]
  expect(statuses.map((status) => (status === 204 ? 200 : status))).toEqual([200, 200, 422])
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
  await expectDoneAgain(second, 'invoice.paid', {
    data: { object: { customer: 'cus_again', currency: 'eur', amount_paid: 7 } },
    body: { raw: 'these names stand in the body, too' },
  })
  expect(inDatabase(`select amount from credits where customer = 'cus_again'`)).toEqual([{ amount: 7 }])
  await expectKeptContract(second, 'first')
  expect(await second.stop()).toBe(0)
})

/** Calls of the handler stop before the effect of each second payment, and before the commit of the others, until this connection ends. */
const HOLD = `
  create function hold() returns trigger language plpgsql
    as $$ begin perform pg_advisory_xact_lock_shared(7); return new; end $$;
  create trigger hold before insert on balances for each row when (new.amount % 2 = 1) execute function hold();
  create constraint trigger hold after insert on keys deferrable initially deferred
    for each row when (new.key like '%even%') execute function hold();
  select pg_advisory_lock(7)`

it('go-postgres adds each payment to the balance once, even if it is killed before the effect and before the commit', async (context) => {
  await requireTool('go', context)
  await requireTool('postgresql', context)
  const cwd = join(import.meta.dirname, '../../examples/go-postgres')
  const { stdout: unformatted } = await run('gofmt', ['-l', '.'], { cwd })
  expect(unformatted).toBe('')
  await run('go', ['vet', '.'], { cwd })
  await using data = await dataFolder()
  await using first = await startExample('go-postgres', data.path)
  const accounts = ['account-1', 'account-ö', 'account-3']
  const payments = Array.from({ length: 60 }, (_, index) => ({
    ...{ id: `evt ä ${index % 2 === 0 ? 'even' : 'odd'} ${randomUUID()}`, type: 'payment_intent.succeeded' },
    ...{ created: FIRST_SECOND, livemode: false },
    data: {
      object: {
        ...{ id: `pi_${index}`, currency: 'eur', amount_received: 2 ** 53 - index },
        metadata: { account_id: accounts[index % 3] },
      },
    },
  }))
  const early = payments.slice(0, 30)
  await deliverAll(first, [...early, ...early])
  await expect.poll(() => inDatabase(first, 'select key from keys')).toHaveLength(early.length)
  await using holder = await connect(first)
  await holder.query(HOLD)
  await deliverAll(first, payments.slice(30, 38))
  const held = `select distinct lower(substring(query from '\\w+')) as held from pg_stat_activity where wait_event = 'advisory'`
  await expect.poll(() => inDatabase(first, `${held} order by 1`)).toEqual([{ held: 'commit' }, { held: 'insert' }])
  await first.kill()

  await using second = await startExample('go-postgres', data.path)
  await deliverAll(second, [...payments.toReversed(), ...payments])
  await expect.poll(() => inDatabase(second, 'select key from keys')).toHaveLength(payments.length)
  const wanted = accounts.map((account, rest) => ({
    account,
    amount: payments
      .filter((_, index) => index % 3 === rest)
      .reduce((sum, { data: { object } }) => sum + BigInt(object.amount_received), 0n)
      .toString(),
  }))
  const balances = await inDatabase(second, 'select account, amount from balances')
  expect(balances.toSorted((one, other) => (one.account < other.account ? -1 : 1))).toEqual(
    wanted.toSorted((one, other) => (one.account < other.account ? -1 : 1)),
  )
  await expectDoneAgain(second, 'payment.succeeded', {
    data: { object: { amount_received: 7, currency: 'eur', metadata: { account_id: 'account-again' } } },
    body: { raw: 'these names stand in the body, too' },
  })
  const again = await inDatabase(second, `select amount from balances where account = 'account-again'`)
  expect(again).toEqual([{ amount: '7' }])
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
    return Object.assign(db.collection<{ _id: string }>('orders'), { db, [Symbol.asyncDispose]: () => client.close() })
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
