import { hash, randomUUID } from 'node:crypto'
import { fulfilmentClient, refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { canaryToken } from '@oncehook/kernel/testing/canary-token'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createOperatorClient, DEAD_SOON, paymentEvent, startOperatedSystem } from '../testing/start-operated-system.ts'

const ones = { reader: canaryToken(), operator: canaryToken(), keeper: canaryToken() }
const tokens = { ...ones, first: canaryToken(), second: canaryToken() }
const LONG = 'x'.repeat(63)
const entry = (value: string, roles: readonly string[]) => ({ tokens: [{ value }], roles })

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(
  await startOperatedSystem(database, {
    settings: {
      ...DEAD_SOON,
      OPERATOR_TOKENS: JSON.stringify({
        reader: entry(tokens.reader, ['read']),
        operator: entry(tokens.operator, ['operate', 'bodies']),
        keeper: entry(tokens.keeper, ['orders']),
        [`${LONG}1`]: entry(tokens.first, ['orders']),
        [`${LONG}2`]: entry(tokens.second, ['orders']),
      }),
    },
  }),
)
const clientOf = (name: keyof typeof tokens) => createOperatorClient(system.gateway.adminUrl, tokens[name])
const orders = system.fulfilment.db.collection<{ _id: string; changedBy?: string }>('orders')
const audit = database.db.collection('audit')
const entries = () => audit.find({ action: 'orders.correct' }).sort({ seq: 1 }).toArray()
const reason = 'the shop has billed four of them'
const items = [{ sku: 'book', quantity: 4, unitAmount: 150 }]

beforeEach(async () => {
  await audit.deleteMany()
})

describe('orders.get', () => {
  it('shows what an order costs and whether it is paid, and nobody who bought it', async () => {
    const { orders: api } = fulfilmentClient(system.fulfilment)
    const person = { customerId: 'cus_jane', email: 'jane@example.com', note: 'for Jane', metadata: { who: 'Jane' } }
    const { order } = await api.create.mutate({ order: { ...person, currency: 'EUR', items } })
    const shown = await clientOf('reader').orders.get.query({ id: order.id })
    expect(shown).toEqual({
      ...{ id: order.id, version: 1, status: 'pending', access: 'locked', amountDue: 600, currency: 'EUR', items },
      ...{ payment: null, createdAt: order.createdAt, updatedAt: order.updatedAt },
    })
    expect(JSON.stringify(shown)).not.toMatch(/jane/i)
  })

  it('knows no other order', async () => {
    const reader = clientOf('reader')
    expect(await refusalOf(reader.orders.get.query({ id: 'ord_none' }))).toMatchObject({ reason: 'order_not_found' })
    expect(await refusalOf(reader.orders.get.query({ id: '../ord' }))).toMatchObject({ code: 'BAD_REQUEST' })
  })
})

describe('orders.correct', () => {
  it('changes what an order costs, so that its payment fits, and records both amounts', async () => {
    const eventId = randomUUID()
    const id = await system.order()
    await system.deliver(paymentEvent(eventId, { orderId: id, amount: 600 }))
    const { _id, reason: why } = await system.until(eventId, ({ state }) => state === 'dead')
    expect(why).toBe('amount_mismatch')
    expect(await clientOf('reader').events.get.query({ id: String(_id) })).toMatchObject({
      amount: 600,
      currency: 'EUR',
    })
    expect(await clientOf('keeper').orders.correct.mutate({ id, version: 1, items, reason })).toMatchObject({
      before: { amountDue: 300, currency: 'EUR' },
      order: { id, version: 2, amountDue: 600, currency: 'EUR', status: 'pending', items },
    })
    expect(await entries()).toMatchObject([
      {
        ...{ by: 'keeper', reason },
        details: {
          ...{ orderId: id, version: 1 },
          ...{ before: { amountDue: 300, currency: 'EUR' }, after: { amountDue: 600, currency: 'EUR' } },
        },
      },
    ])
    expect(await orders.findOne({ _id: id })).toMatchObject({ changedBy: 'operator:keeper' })
    await clientOf('operator').events.replay.mutate({ ids: [String(_id)], reason: 'its order is right now' })
    await system.until(eventId, ({ state }) => state === 'done')
    expect(await clientOf('reader').orders.get.query({ id })).toMatchObject({ status: 'paid', access: 'unlocked' })
  })

  it('names in the order the operator who has changed it, and no other with a name as long', async () => {
    const id = await system.order()
    await clientOf('first').orders.correct.mutate({ id, version: 1, items, reason })
    expect(await orders.findOne({ _id: id })).toMatchObject({ changedBy: `operator:${LONG}1` })
    await clientOf('second').orders.correct.mutate({ id, version: 2, currency: 'USD', reason })
    expect(await orders.findOne({ _id: id })).toMatchObject({ changedBy: `operator:${LONG}2` })
  })

  it('records which items were before and after, also if they cost the same', async () => {
    const id = await system.order()
    const before = [{ sku: 'book', quantity: 2, unitAmount: 150 }]
    const after = [
      { sku: 'map', quantity: 1, unitAmount: 100 },
      { sku: 'book', quantity: 1, unitAmount: 200 },
    ]
    await clientOf('keeper').orders.correct.mutate({ id, version: 1, items: after, reason })
    const [recorded] = await entries()
    expect(recorded?.details).toMatchObject({
      before: { amountDue: 300, currency: 'EUR', items: before },
      after: { amountDue: 300, currency: 'EUR', items: after },
    })
  })

  it('records of very many items how many they are, and their hash', async () => {
    const id = await system.order()
    const many = Array.from({ length: 1_000 }, (_, n) => ({
      sku: `sku ${n}`.padEnd(255, '.'),
      quantity: 1,
      unitAmount: 1,
    }))
    await clientOf('keeper').orders.correct.mutate({ id, version: 1, items: many, reason })
    const sha256 = hash('sha256', JSON.stringify(many))
    const [recorded] = await entries()
    expect(recorded?.details.after).toEqual({ amountDue: 1_000, currency: 'EUR', items: { count: 1_000, sha256 } })
  })

  it('changes the currency alone', async () => {
    const id = await system.order()
    const { before, order } = await clientOf('keeper').orders.correct.mutate({
      id,
      version: 1,
      currency: 'USD',
      reason,
    })
    expect([before, order]).toMatchObject([{ currency: 'EUR' }, { amountDue: 300, currency: 'USD' }])
    const [recorded] = await entries()
    expect(recorded?.details.after).toEqual({ amountDue: 300, currency: 'USD' })
  })

  it('needs a role that no other one includes', async () => {
    const id = await system.order()
    for (const name of ['reader', 'operator'] as const) {
      const refused = clientOf(name).orders.correct.mutate({ id, version: 1, items, reason })
      expect(await refusalOf(refused)).toMatchObject({ httpStatus: 403, reason: 'role_missing' })
    }
    expect(await refusalOf(clientOf('keeper').events.close.mutate({ id: '0'.repeat(24), reason }))).toMatchObject({
      ...{ reason: 'role_missing' },
    })
    expect([await entries(), await clientOf('reader').orders.get.query({ id })]).toMatchObject([[], { version: 1 }])
  })

  it('changes no order that is paid, and the audit log says that it was refused', async () => {
    const eventId = randomUUID()
    const id = await system.order()
    await system.deliver(paymentEvent(eventId, { orderId: id }))
    await system.until(eventId, ({ state }) => state === 'done')
    const keeper = clientOf('keeper')
    const { version } = await keeper.orders.get.query({ id })
    const refused = keeper.orders.correct.mutate({ id, version, items, reason })
    expect(await refusalOf(refused)).toMatchObject({ httpStatus: 409, reason: 'order_paid' })
    const told = await entries()
    expect(told.map(({ details }) => details.refused)).toEqual([undefined, 'order_paid'])
    expect(await keeper.orders.get.query({ id })).toMatchObject({ version, amountDue: 300, status: 'paid' })
  })

  it.each([
    ['nothing to change', {}],
    ['another property', { items, customerId: 'cus_2' }],
    ['no reason', { items, reason: '' }],
    ['no version', { items, version: 0 }],
  ])('refuses %s', async (_, members) => {
    const input = { id: 'ord_1', version: 1, reason, ...members }
    expect(await refusalOf(clientOf('keeper').orders.correct.mutate(input))).toMatchObject({ code: 'BAD_REQUEST' })
    expect(await entries()).toEqual([])
  })

  it.each([
    ['no currency', { currency: 'XX' }],
    ['no items', { items: [] }],
    ['a negative quantity', { items: [{ sku: 'book', quantity: -1, unitAmount: 150 }] }],
    ['a discount', { items: [...items, { sku: 'discount', quantity: 1, unitAmount: -599 }] }],
    ['a total beyond 2^53', { items: [{ sku: 'book', quantity: 2 ** 40, unitAmount: 2 ** 40 }] }],
  ])('leaves it to fulfilment to refuse %s', async (_, members) => {
    const id = await system.order()
    const refused = clientOf('keeper').orders.correct.mutate({ id, version: 1, reason, ...members })
    expect(await refusalOf(refused)).toMatchObject({ httpStatus: 422, reason: 'patch_unprocessable' })
    expect(await clientOf('keeper').orders.get.query({ id })).toMatchObject({ version: 1, amountDue: 300 })
  })
})
