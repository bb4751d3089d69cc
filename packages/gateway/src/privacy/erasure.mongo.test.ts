import { hash, randomUUID } from 'node:crypto'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import { armFailPoint, holdCommands } from '@oncehook/kernel/testing/fail-point'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { Binary, BSON, type Db, type Document, ObjectId } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { BODIES } from '../inbox/bodies.ts'
import type { Recorded } from '../inbox/inbox.ts'
import { eraseEvents, findErasableEvents } from '../inbox/retention/erase-events.ts'
import { stripOldBodies } from '../inbox/retention/strip-old-bodies.ts'
import { REPLAYS } from '../operator/replays/replays.ts'
import { type OpenInbox, openInbox, sampleArrival } from '../testing/open-inbox.ts'
import { paymentEvent, startOperatedSystem } from '../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const { orders } = fulfilmentClient(system.fulfilment)
const operator = system.operator()
const reason = 'asked for by mail'

/** Every document of a database, as its bytes. */
async function dump(db: Db): Promise<string> {
  const collections = await db.listCollections({}, { nameOnly: true }).toArray()
  const documents: Document[][] = await Promise.all(collections.map(({ name }) => db.collection(name).find().toArray()))
  return documents
    .flat()
    .map((one) => Buffer.from(BSON.serialize(one)).toString('latin1'))
    .join('\n')
}

/** Everything that is stored in either database. */
async function everything(): Promise<string> {
  const [gateway, fulfilment] = await Promise.all([dump(database.db), dump(system.fulfilment.db)])
  return [gateway, fulfilment].join('\n')
}

const items = [{ sku: 'book', quantity: 2, unitAmount: 150 }]

/** A customer with a paid order whose receipt was sent. Only these texts identify the customer. */
async function paidCustomer() {
  const mark = randomUUID()
  const person = { customerId: `cus_${mark}`, email: `${mark}@example.com`, body: `Name ${mark}` }
  const { customerId, email } = person
  const made = await fetch(`${system.gateway.url}/api/orders`, {
    method: 'POST',
    body: JSON.stringify({ customerId, email, currency: 'EUR', items, note: person.body }),
    headers: {
      ...{ authorization: `Bearer ${system.tokens.api}`, 'content-type': 'application/json' },
      'idempotency-key': `"${randomUUID()}"`,
    },
  })
  const { id: orderId } = (await made.json()) as { id: string }
  const eventId = randomUUID()
  const event = paymentEvent(eventId, { orderId, billing: person.body, email })
  expect(await system.deliver(event)).toBe(200)
  await system.until(eventId, ({ state }) => state === 'done')
  await expect.poll(() => operator.receipts.list.query({ orderId, state: 'sent' })).toMatchObject({ items: [{}] })
  return { mark, person, orderId, eventId, event }
}

/** One delivery of two events, whose ids begin with the mark. */
function deliverTwo({ inbox }: OpenInbox, mark: string): Promise<readonly Recorded[]> {
  const { event, ...evidence } = sampleArrival(mark, { rawBody: Buffer.from(`{"name":"Name ${mark}"}`) })
  const offers = ['a', 'b'].map((name) => ({ event: { ...event, id: `${mark}-${name}`, type: 'other' } }))
  return inbox.recordBatch({ evidence, offers, endsAt: performance.now() + 10_000 })
}

const RETENTION = { retentionMs: 3_600_000, bodyRetentionMs: 60_000 }

/** Ends the retention of the body of an event, and perhaps of its record. */
async function expire({ db, events }: OpenInbox, eventId: string, members: object = {}): Promise<void> {
  const { modifiedCount } = await events.updateOne({ eventId }, { $set: { stripAt: new Date(0), ...members } })
  expect(modifiedCount).toBe(1)
  await stripOldBodies(db, RETENTION, new AbortController().signal)
}

/** Expects that the first event of a delivery can be erased, with the body, only when the second is done. */
async function expectRefusedUntilDone(open: OpenInbox, mark: string, whenRefused = async () => {}): Promise<void> {
  const erase = () => operator.erase.mutate({ provider: 'acme', eventId: `${mark}-a`, reason })
  await expect(erase()).rejects.toMatchObject({
    message: expect.stringContaining('of the same delivery'),
    data: { reason: 'erase_unsettled', httpStatus: 409 },
  })
  expect(await dump(database.db)).toContain(`Name ${mark}`)
  await whenRefused()
  await open.events.updateOne({ eventId: `${mark}-b` }, { $set: { state: 'done' } })
  expect(await erase()).toMatchObject({ matched: 1, erased: 1 })
  expect(await dump(database.db)).not.toContain(`Name ${mark}`)
}

describe('erase', () => {
  it('leaves nothing of an order in either database, and no event takes effect twice', async () => {
    const { mark, orderId, eventId, event } = await paidCustomer()
    const other = await paidCustomer()
    const before = await everything()
    for (const text of [`cus_${mark}`, `${mark}@example.com`, `Name ${mark}`]) expect(before).toContain(text)
    const order = await orders.get.query({ id: orderId })

    expect(await operator.erase.mutate({ orderId, reason, dryRun: true })).toEqual({
      matched: 2,
      erased: 0,
      more: false,
      orders: [orderId],
    })
    expect(await everything()).toContain(mark)
    expect(await operator.erase.mutate({ orderId, reason })).toEqual({
      matched: 2,
      erased: 2,
      more: false,
      orders: [orderId],
    })
    expect(await everything()).not.toContain(mark)
    expect(await everything()).toContain(other.mark)

    expect(await operator.erase.mutate({ orderId, reason })).toEqual({ matched: 0, erased: 0, more: false, orders: [] })

    expect(await system.deliver(event)).toBe(200)
    const again = await system.until(eventId, ({ deliveries }) => deliveries === 2)
    expect(again).toMatchObject({ state: 'done', reason: 'erased', mismatches: 0 })
    const stored = system.fulfilment.db.collection<{ _id: string }>('orders')
    expect(await stored.findOne({ _id: orderId })).toMatchObject({
      ...{ status: 'deleted', version: order.version + 1, applied: [], paidBy: [{ marker: { eventId } }] },
      receipts: [{ state: 'sent', email: null, customerId: null }],
    })
    expect(await everything()).not.toContain(mark)
    const { items: audit } = await operator.audit.list.query({ limit: 10 })
    expect(audit).toContainEqual(
      expect.objectContaining({ by: 'alice', action: 'erase', reason, details: { orderId, events: 1, orders: 1 } }),
    )
  })

  it('finds all orders of a customer, also those that were deleted or have another customer now', async () => {
    const { mark, person, orderId } = await paidCustomer()
    const { customerId, email } = person
    const unpaid = `o_${mark}`
    await orders.put.mutate({ id: unpaid, order: { customerId, email, currency: 'EUR', items } })
    await orders.patch.mutate({ id: orderId, patch: { customerId: 'cus_2', email: null, note: null }, ifMatch: '*' })
    const { erased, orders: found } = await operator.erase.mutate({ customerId, reason })
    expect(erased).toBe(3)
    expect(found.toSorted()).toEqual([orderId, unpaid].toSorted())
    expect(await orders.get.query({ id: orderId })).toMatchObject({ customerId: 'cus_2', status: 'paid' })
    expect((await everything()).replaceAll(unpaid, '')).not.toContain(mark)
    const { items: audit } = await operator.audit.list.query({ limit: 10 })
    const customerHash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(audit.map(({ details }) => details)).toContainEqual({
      customerHash,
      events: 1,
      orders: 2,
      orderIds: expect.any(Array),
    })
  })

  it.each([true, false])(
    'tells nobody without a trace whether a person is a customer (dry run: %s)',
    async (dryRun) => {
      const { person } = await paidCustomer()
      const whose = [person.customerId, `cus_${randomUUID()}`]
      for (const customerId of whose) await operator.erase.mutate({ customerId, reason, dryRun })
      const { items: audit } = await operator.audit.list.query({ limit: 2 })
      expect(audit.map(({ action, details }) => ({ action, ...details }))).toMatchObject(
        whose.toReversed().map((customerId) => ({
          ...{ action: 'erase', customerHash: hash('sha256', customerId) },
          ...(dryRun ? { dryRun: true } : { orders: customerId === person.customerId ? 1 : 0 }),
        })),
      )
    },
  )

  it('is finished by the same call where an earlier one ended between the two databases', async () => {
    const { mark, person, orderId, eventId } = await paidCustomer()
    await eraseEvents(database.db, await findErasableEvents(database.db, { orderIds: [orderId] }))
    expect(await system.record(eventId)).toMatchObject({ reason: 'erased' })
    expect(await everything()).toContain(mark)
    expect(await operator.erase.mutate({ customerId: person.customerId, reason })).toMatchObject({
      matched: 1,
      erased: 1,
    })
    expect(await everything()).not.toContain(mark)
  })

  it('is refused while an event is in progress, with nothing erased and an entry in the audit log', async () => {
    const mark = randomUUID()
    const orderId = `o_${mark}`
    await system.deliver(paymentEvent(mark, { orderId, billing: `Name ${mark}` }))
    await system.until(mark, ({ state, attempts }) => state === 'pending' && attempts.length > 0)
    const refused = operator.erase.mutate({ orderId, reason })
    await expect(refused).rejects.toMatchObject({ data: { reason: 'erase_unsettled', httpStatus: 409 } })
    expect(await everything()).toContain(`Name ${mark}`)
    const { items: audit } = await operator.audit.list.query({ limit: 10 })
    const erasures = audit.filter(({ action, details }) => action === 'erase' && details.orderId === orderId)
    expect(erasures).toMatchObject([{ details: { orderId, refused: 'erase_unsettled' } }])

    await orders.put.mutate({ id: orderId, order: { customerId: 'cus_1', currency: 'EUR', items } })
    await system.until(mark, ({ state }) => state === 'done')
    const erase = () => operator.erase.mutate({ orderId, reason }).catch(() => null)
    await expect.poll(erase).toMatchObject({ erased: 2 })
    expect(await everything()).not.toContain(`Name ${mark}`)
  })

  it.each([
    ['before anything is erased', ['find'], [{ refused: 'unavailable' }]],
    ['before its orders are erased', ['findAndModify'], [{ unanswered: 'unavailable' }, { orders: 1 }]],
  ])('leaves an entry if the database of fulfilment fails %s', async (_, commands, entries) => {
    const orderId = await system.order()
    {
      const how = { errorCode: 91, namespace: `${system.fulfilment.db.databaseName}.orders` }
      await using _failing = await armFailPoint(database.uri, { commands, after: 0, how })
      const erased = operator.erase.mutate({ orderId, reason })
      await expect(erased).rejects.toMatchObject({ data: { reason: 'unavailable' } })
    }
    const { items: found } = await operator.audit.list.query({ limit: 10 })
    expect(found.map(({ details }) => details).filter((details) => details.orderId === orderId)).toMatchObject(entries)
  })

  it('erases one event by the id of its provider, even a dead one, and no delivery revives it', async () => {
    const eventId = randomUUID()
    const event = paymentEvent(eventId, { orderId: await system.order(), amount: 1, billing: `Name ${eventId}` })
    await system.deliver(event)
    await system.until(eventId, ({ state }) => state === 'dead')
    const whose = { provider: 'acme', eventId, reason }
    expect(await operator.erase.mutate(whose)).toEqual({ matched: 1, erased: 1, more: false, orders: [] })
    expect(await everything()).not.toContain(`Name ${eventId}`)
    // Money that came for nothing is still found at its provider.
    const [entry] = (await operator.audit.list.query({ limit: 1 })).items
    expect(entry?.details).toMatchObject({ dead: [{ provider: 'acme', eventId }], deadEvents: 1 })
    await system.deliver(event)
    await system.until(eventId, ({ deliveries }) => deliveries === 2)
    expect(await system.record(eventId)).toMatchObject({ state: 'done', reason: 'erased' })
    expect(await operator.erase.mutate(whose)).toEqual({ matched: 0, erased: 0, more: false, orders: [] })
    expect(await operator.erase.mutate({ ...whose, eventId: randomUUID() })).toMatchObject({ matched: 0 })
  })

  it.each(['pending', 'processing'] as const)('is refused while another event of the delivery is %s', async (state) => {
    await using open = await openInbox(database)
    const mark = randomUUID()
    await deliverTwo(open, mark)
    // The task of a handler that nobody runs.
    const other = { eventId: `${mark}-b` }
    const held = { state, handler: 'billing', claim: 'of another process', dueAt: new Date(Date.now() + 50_000) }
    await open.events.updateOne(other, { $set: held })
    await expectRefusedUntilDone(open, mark, async () => {
      expect(await open.record(`${mark}-a`)).toMatchObject({ reason: 'type_unhandled' })
    })
  })

  it.each([
    ['runs', () => null],
    ['was cancelled a moment ago', () => new Date()],
  ])('is refused while a backfill %s, which may have read the event', async (_, finishedAt) => {
    await using open = await openInbox(database)
    const eventId = randomUUID()
    await open.inbox.record(sampleArrival(eventId, { event: { ...sampleArrival(eventId).event, type: 'other' } }))
    const jobs = database.db.collection(REPLAYS)
    await jobs.insertOne({ handler: 'billing', finishedAt: finishedAt() })
    const erase = () => operator.erase.mutate({ provider: 'acme', eventId, reason })
    await expect(erase()).rejects.toMatchObject({ message: expect.stringContaining('A backfill may have read') })
    await jobs.updateMany({}, { $set: { finishedAt: new Date(Date.now() - 120_000) } })
    expect(await erase()).toMatchObject({ matched: 1, erased: 1 })
    // Only the key is left, but a backfill may still hold the event.
    await jobs.updateMany({}, { $set: { finishedAt: finishedAt() } })
    await expect(erase()).rejects.toMatchObject({ message: expect.stringContaining('A backfill may have read') })
    await jobs.deleteMany()
    expect(await erase()).toMatchObject({ matched: 0, erased: 0 })
  })

  it('notices what is stored meanwhile, such as the task of a backfill, and finds it when it is repeated', async () => {
    await using open = await openInbox(database)
    const mark = randomUUID()
    const orderId = `o_${mark}`
    await deliverTwo(open, mark)
    await open.events.updateMany({ eventId: { $in: [`${mark}-a`, `${mark}-b`] } }, { $set: { orderId } })
    const copied = await open.record(`${mark}-a`)
    const erase = () => operator.erase.mutate({ orderId, reason })
    let erasing: Promise<unknown>
    {
      await using _ = await holdCommands(database.uri, 'update', `${database.name}.${EVENTS}`)
      erasing = erase().catch((error: unknown) => error)
      // The body is emptied immediately before the records.
      await expect.poll(() => dump(database.db)).not.toContain(`Name ${mark}`)
      const task = { ...copied, _id: new ObjectId(), eventId: `${mark}-c`, handler: 'billing' }
      const { bodyId: _of, ...own } = task
      await open.events.insertOne({ ...own, state: 'pending', raw: new Binary(Buffer.from(`Name ${mark}`)) })
    }
    expect(await erasing).toMatchObject({
      message: expect.stringMatching(/^A part is erased, but/),
      data: { reason: 'erase_unsettled', httpStatus: 409 },
    })
    expect(await open.record(`${mark}-a`)).toMatchObject({ reason: 'erased' })
    await expect(erase()).rejects.toMatchObject({ data: { reason: 'erase_unsettled' } })
    await open.events.updateOne({ eventId: `${mark}-c` }, { $set: { state: 'done' } })
    expect(await erase()).toMatchObject({ matched: 1, erased: 1 })
    expect(await dump(database.db)).not.toContain(`Name ${mark}`)
  })

  it('empties a body that several events share, and no delivery of it stores it again', async () => {
    await using open = await openInbox(database)
    const mark = randomUUID()
    expect(await deliverTwo(open, mark)).toEqual(['recorded', 'recorded'])
    expect(await dump(database.db)).toContain(`Name ${mark}`)
    await operator.erase.mutate({ provider: 'acme', eventId: `${mark}-a`, reason })
    expect(await dump(database.db)).not.toContain(`Name ${mark}`)
    // This process does not remember the delivery.
    await using fresh = await openInbox(database)
    expect(await deliverTwo(fresh, mark)).toEqual(['duplicate', 'duplicate'])
    expect(await dump(database.db)).not.toContain(`Name ${mark}`)
  })

  it.each([
    ['the body', {}],
    ['the record, of which the key is left,', { settledAt: new Date(0) }],
  ])('empties a shared body although the retention of %s has ended for the erased event alone', async (_, ended) => {
    await using open = await openInbox(database)
    const mark = randomUUID()
    await deliverTwo(open, mark)
    await open.events.updateOne({ eventId: `${mark}-a` }, { $unset: { expireAt: '' } })
    await expire(open, `${mark}-a`, ended)
    expect(await open.record(`${mark}-a`)).not.toHaveProperty('bodyId')
    expect(await open.record(`${mark}-b`)).toHaveProperty('bodyId')
    const erase = (more: object = {}) =>
      operator.erase.mutate({ provider: 'acme', eventId: `${mark}-a`, reason, ...more })
    expect(await erase({ dryRun: true })).toMatchObject({ matched: 1, erased: 0 })
    expect(await dump(database.db)).toContain(`Name ${mark}`)
    expect(await erase()).toMatchObject({ matched: 1, erased: 1 })
    expect(await dump(database.db)).not.toContain(`Name ${mark}`)
    expect(await open.record(`${mark}-a`)).toMatchObject({ state: 'done', reason: 'erased' })
    expect(await erase()).toMatchObject({ matched: 0, erased: 0 })
  })

  it('empties a body to which no record refers: a process died before it revived the event', async () => {
    await using open = await openInbox(database)
    const mark = randomUUID()
    await deliverTwo(open, mark)
    const both = { eventId: { $in: [`${mark}-a`, `${mark}-b`] } }
    await open.events.updateMany(both, { $set: { state: 'dead', reason: 'handler_refused' } })
    // What the process has left behind: the body is stored again, and both records are as they were.
    for (const name of ['a', 'b']) await expire(open, `${mark}-${name}`)
    expect(await open.events.countDocuments({ ...both, bodyId: { $exists: true } })).toBe(0)
    expect(await dump(database.db)).toContain(`Name ${mark}`)
    expect(await operator.erase.mutate({ provider: 'acme', eventId: `${mark}-a`, reason })).toMatchObject({ erased: 1 })
    expect(await dump(database.db)).not.toContain(`Name ${mark}`)
  })

  it('leaves no way back for a body that was removed before: no delivery of it stores it again', async () => {
    await using open = await openInbox(database)
    const mark = randomUUID()
    await deliverTwo(open, mark)
    for (const name of ['a', 'b']) await expire(open, `${mark}-${name}`)
    await open.db.collection(BODIES).deleteMany()
    for (const name of ['a', 'b']) await operator.erase.mutate({ provider: 'acme', eventId: `${mark}-${name}`, reason })
    await using fresh = await openInbox(database)
    expect(await deliverTwo(fresh, mark)).toEqual(['duplicate', 'duplicate'])
    expect(await dump(database.db)).not.toContain(`Name ${mark}`)
  })
})
