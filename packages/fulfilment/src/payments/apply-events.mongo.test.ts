import { randomUUID } from 'node:crypto'
import { createDatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { systemClock } from '@oncehook/kernel/time/clock'
import { type CommandStartedEvent, type Db, MongoClient, type UpdateFilter } from 'mongodb'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, it } from 'vitest'
import { APPLIED_KEPT, newOrder, ORDER_INDEXES, ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import { OWING_OUTBOX } from '../testing/owing-outbox.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { type ApplyDeps, applyEvents } from './apply-events.ts'

const errors = createDatabaseErrors(new Registry())

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

const appName = `apply-${randomUUID()}`
const database = stack.use(await testDatabase(process.env))
const client = stack.adopt(
  await new MongoClient(database.uri.reveal(), { appName, monitorCommands: true }).connect(),
  (connected) => connected.close(),
)
const db = client.db(database.name)
const orders = db.collection<OrderDocument>(ORDERS)
await ensureIndexes(db, [ORDER_INDEXES])

function deps(members: Partial<ApplyDeps> = {}): ApplyDeps {
  const { logger } = memoryLogger()
  return { db, errors, clock: systemClock, logger, newCallId: randomUUID, receipts: OWING_OUTBOX, ...members }
}

async function insertOrders(...ids: string[]): Promise<void> {
  await orders.insertMany(ids.map((id) => newOrder(id, sampleOrder(), new Date())))
}

function uniqueIds(count: number): string[] {
  return Array.from({ length: count }, () => `o_${randomUUID()}`)
}

/** A database that runs something else before each command. */
function dbWith(before: (name: string, collection: unknown) => Promise<void>): Db {
  return new Proxy(db, {
    get(target, member) {
      if (member !== 'command') return Reflect.get(target, member).bind(target)
      return async (command: object) => {
        const [[name, collection] = ['', '']] = Object.entries(command)
        await before(name, collection)
        return target.command(command)
      }
    },
  })
}

describe('applyEvents', () => {
  it('has one effect for fifty copies in parallel', async () => {
    const [id = ''] = uniqueIds(1)
    await insertOrders(id)
    const apply = () => applyEvents(deps(), [sampleEvent({ orderId: id })])
    const verdicts = (await Promise.all(Array.from({ length: 50 }, apply))).flat()
    expect(verdicts.filter((one) => 'outcome' in one && one.outcome === 'applied')).toHaveLength(1)
    // On a busy machine, some lose every conflict. They are asked to come again.
    const others = new Set(verdicts.map((one) => ('outcome' in one ? one.outcome : one.retry)))
    expect(['applied', 'duplicate', 'now', 'later']).toEqual(expect.arrayContaining([...others]))
    expect(await apply()).toMatchObject([{ outcome: 'duplicate' }])
    expect(await orders.findOne({ _id: id })).toMatchObject({ version: 2, applied: [], paidBy: [{}], receipts: [{}] })
  })

  it('applies 500 events in one update command, with majority and journal, and each in its place', async () => {
    const ids = uniqueIds(500)
    await insertOrders(...ids.slice(1))
    const seen = await commandsOf(() =>
      applyEvents(
        deps(),
        ids.map((orderId) => sampleEvent({ orderId })),
      ),
    )
    expect(seen.result[0]).toEqual({ refused: 'order_unknown', retry: 'later' })
    expect(seen.result.slice(1)).toEqual(Array(499).fill({ outcome: 'applied', version: 2 }))
    expect(seen.commands.map(({ commandName }) => commandName)).toEqual(['find', 'update'])
    const [read, ...writes] = seen.commands
    expect(read?.command.readConcern).toEqual({ level: 'majority' })
    for (const { command } of writes) expect(command.writeConcern).toMatchObject({ w: 'majority', j: true })
  })

  it('answers the retry of a lost reply with the stored result, though its version is old', async () => {
    const [id = ''] = uniqueIds(1)
    await insertOrders(id)
    const event = sampleEvent({ orderId: id })
    {
      await using _ = await failNextUpdate({
        writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
      })
      expect(await applyEvents(deps(), [event])).toEqual([{ refused: 'unavailable', retry: 'later' }])
    }
    expect(await applyEvents(deps(), [event])).toEqual([{ outcome: 'duplicate', version: 2 }])
    expect(await orders.findOne({ _id: id })).toMatchObject({ version: 2, receipts: [{}] })
  })

  it('gives each order its own result when one of a batch was changed meanwhile', async () => {
    const [fast = '', slow = '', any = ''] = uniqueIds(3)
    await insertOrders(fast, slow, any)
    let raced = false
    const racing = dbWith(async () => {
      if (raced) return
      raced = true
      await orders.updateMany({ _id: { $in: [slow, any] } }, { $inc: { version: 1 } })
    })
    const events = [
      sampleEvent({ orderId: fast }),
      sampleEvent({ orderId: slow }),
      sampleEvent({ orderId: any, ifMatch: '*' }),
    ]
    const results = await applyEvents(deps({ db: racing }), events)
    expect(results).toEqual([
      { outcome: 'applied', version: 2 },
      { refused: 'precondition_failed', retry: 'now' },
      { outcome: 'applied', version: 3 },
    ])
    expect(await orders.countDocuments({ _id: { $in: [fast, any] }, status: 'paid', receipts: { $size: 1 } })).toBe(2)
  })

  it('lets one payment pay one order only, and applies the other events of that order', async () => {
    const [one = '', other = ''] = uniqueIds(2)
    await insertOrders(one, other)
    const results = await applyEvents(deps(), [sampleEvent({ orderId: one, paymentId: 'pay_shared' })])
    expect(results).toEqual([{ outcome: 'applied', version: 2 }])
    const rest = await applyEvents(deps(), [
      sampleEvent({ orderId: other, eventId: 'e_failed', type: 'payment.failed', paymentId: 'pay_own' }),
      sampleEvent({ orderId: other, eventId: 'e_paid', paymentId: 'pay_shared' }),
    ])
    expect(rest).toEqual([
      { outcome: 'applied', version: 2 },
      { refused: 'payment_used_elsewhere', retry: 'never' },
    ])
    expect(await orders.findOne({ _id: other })).toMatchObject({ status: 'payment_failed', version: 2, receipts: [] })
  })

  it('has one effect for each of 500 events of one order, even if all of them are repeated without their markers', async () => {
    const [id = ''] = uniqueIds(1)
    await insertOrders(id)
    const events = failuresOf(id, 500)
    const applyAll = async () => {
      for (let from = 0; from < events.length; from += APPLIED_KEPT) {
        await applyEvents(deps(), events.slice(from, from + APPLIED_KEPT))
      }
    }
    const withoutMarkers = () => orders.findOne({ _id: id }, { projection: { applied: 0 } })
    await applyAll()
    const after = await withoutMarkers()
    expect(after).toMatchObject({ version: 501, payment: { id: 'pay_499' } })
    // The gateway died before it settled any of them. The markers of the first 300 are gone.
    await applyAll()
    expect(await withoutMarkers()).toEqual(after)
  })

  it('knows the event that paid an order, after any number of other events', async () => {
    const [id = ''] = uniqueIds(1)
    await insertOrders(id)
    const pays = sampleEvent({ orderId: id, ifMatch: '*' })
    expect(await applyEvents(deps(), [...failuresOf(id, 2), pays])).toMatchObject([
      {},
      {},
      { outcome: 'applied', version: 4 },
    ])
    for (let from = 0; from < 2; from += 1) {
      const others = failuresOf(id, APPLIED_KEPT).map((event) => ({ ...event, eventId: `${event.eventId}_${from}` }))
      await applyEvents(deps(), others)
    }
    expect(await applyEvents(deps(), [pays, { ...pays, amount: 1 }])).toEqual([
      { outcome: 'duplicate', version: 4 },
      { refused: 'event_mismatch', retry: 'never' },
    ])
    expect(await orders.countDocuments({ _id: id, version: 4, applied: { $size: APPLIED_KEPT } })).toBe(1)
  })

  it.each([
    ['applied is missing', { $unset: { applied: '' } }],
    ['applied is no list', { $set: { applied: {} } }],
    ['applied holds what is no marker', { $set: { applied: [null] } }],
    ['receipts are an object', { $set: { receipts: {} } }],
    ['the version is a text', { $set: { version: '1' } }],
    ['the version is missing', { $unset: { version: '' } }],
    ['the status is one of another release', { $set: { status: 'refunded' } }],
    ['the status is missing', { $unset: { status: '' } }],
    ['the payment has no time', { $set: { status: 'payment_failed', payment: { id: 'p', provider: 'acme' } } }],
    ['the payment is missing', { $unset: { payment: '' } }],
    ['the amount is missing', { $unset: { amountDue: '' } }],
    ['paidBy is no list', { $set: { paidBy: 'pay_1' } }],
    ['the customer is a document', { $set: { customerId: { name: 'x' } } }],
  ])('FP-36: refuses the events of an order alone for now, and says so once, when %s', async (_, damage) => {
    const [good = '', bad = '', other = ''] = uniqueIds(3)
    await insertOrders(good, bad, other)
    await orders.updateOne({ _id: bad }, damage as UpdateFilter<OrderDocument>)
    const damaged = await orders.findOne({ _id: bad })
    const { logger, lines } = memoryLogger()
    const events = [
      sampleEvent({ orderId: good }),
      sampleEvent({ orderId: bad, ifMatch: '*', type: 'payment.failed' }),
      sampleEvent({ orderId: bad, ifMatch: '*', eventId: 'evt_second' }),
      sampleEvent({ orderId: other }),
    ]
    expect(await applyEvents(deps({ logger }), events)).toEqual([
      { outcome: 'applied', version: 2 },
      { refused: 'internal', retry: 'later' },
      { refused: 'internal', retry: 'later' },
      { outcome: 'applied', version: 2 },
    ])
    expect(await orders.findOne({ _id: bad })).toEqual(damaged)
    const told = lines.filter(({ msg }) => msg === 'order.undecidable')
    expect(told).toMatchObject([{ level: 'error', orderId: bad, events: 2 }])
  })
})

/** Failed payment attempts for an order, oldest first, each with a different payment and time. */
function failuresOf(orderId: string, count: number) {
  return Array.from({ length: count }, (_, index) =>
    sampleEvent({
      ...{ orderId, eventId: `e_${index}`, type: 'payment.failed', paymentId: `pay_${index}`, ifMatch: '*' },
      occurredAt: new Date(Date.UTC(2026, 0, 1) + index).toISOString(),
    }),
  )
}

async function commandsOf<T>(act: () => Promise<T>): Promise<{ result: T; commands: CommandStartedEvent[] }> {
  const commands: CommandStartedEvent[] = []
  const note = (event: CommandStartedEvent): void => void commands.push(event)
  client.on('commandStarted', note)
  const result = await act()
  client.off('commandStarted', note)
  return { result, commands }
}

function failNextUpdate(how: object): Promise<AsyncDisposable> {
  return armFailPoint(database.uri, { commands: ['update'], appName, how })
}
