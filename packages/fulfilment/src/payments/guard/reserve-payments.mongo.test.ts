import { randomUUID } from 'node:crypto'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { afterAll, describe, expect, it } from 'vitest'
import { ORDER_INDEXES, ORDERS } from '../../orders/stored/order-document.ts'
import { dbAround, openPaymentPlace, type PaymentPlace } from '../../testing/payment-place.ts'
import { sampleEvent } from '../../testing/samples.ts'
import type { ApplyDeps } from '../apply-events.ts'
import type { ApplyResult } from '../decide-order.ts'
import { PAYMENTS, type PaymentGuard } from './payment-reservation.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
// Without the unique index: nothing but the reservations prevents a second effect.
const place = stack.use(await openPaymentPlace(process.env, 'reservation'))
const { database, db, orders, insertOrders } = place

const APPLIED = { outcome: 'applied', version: 2 }
const USED = { refused: 'payment_used_elsewhere', retry: 'never' }
const OPEN = { refused: 'version_conflict', retry: 'now' }
const UNAVAILABLE = { refused: 'unavailable', retry: 'later' }

/** Two unpaid orders, and the payment of each by the same payment. */
async function setUp(where: PaymentPlace = place) {
  const [one = '', other = ''] = await where.insertOrders(2)
  const paymentId = `pay_${randomUUID()}`
  const _id = { provider: 'acme', id: paymentId }
  const pay = (orderId: string, deps?: Partial<ApplyDeps>): Promise<ApplyResult[]> =>
    where.apply([sampleEvent({ orderId, paymentId, ifMatch: '*' })], deps)
  return {
    ...{ one, other, paymentId, pay },
    reservation: () => where.payments.findOne({ _id }),
    paid: async () => {
      const found = await where.orders.find({ _id: { $in: [one, other] }, 'paidBy.id': paymentId }).toArray()
      expect(found.every(({ status, receipts }) => status === 'paid' && receipts.length === 1)).toBe(true)
      return found.map((order) => order._id)
    },
  }
}

const died = (): never => {
  throw new Error('The process died')
}
const AFTER_RESERVATION = { db: dbAround(db, { before: (name) => (name === 'update' ? died() : undefined) }) }

describe('a payment with a reservation', () => {
  it('is reserved for the version of its order that it pays', async () => {
    const { one, paymentId, pay, reservation } = await setUp()
    expect(await pay(one)).toEqual([APPLIED])
    expect(await reservation()).toEqual({ _id: { provider: 'acme', id: paymentId }, orderId: one, version: 1 })
  })

  it('pays after a crash between the reservation and the order; another order waits, and is then refused', async () => {
    const { one, other, pay, reservation, paid } = await setUp()
    expect(await pay(one, AFTER_RESERVATION)).toEqual([UNAVAILABLE])
    expect(await reservation()).toMatchObject({ orderId: one })
    expect(await pay(other)).toEqual([OPEN])
    expect(await pay(one)).toEqual([APPLIED])
    expect(await pay(other)).toEqual([USED])
    expect(await paid()).toEqual([one])
  })

  it('pays one order of a call that names two', async () => {
    const { one, other, paymentId, paid } = await setUp()
    const both = [one, other].map((orderId) => sampleEvent({ orderId, paymentId, ifMatch: '*' }))
    expect(await place.apply(both)).toEqual([APPLIED, USED])
    expect(await paid()).toEqual([one])
  })

  it.each([
    ['has another version', { $inc: { version: 1 } }],
    ['was paid by another payment', { $inc: { version: 1 }, $set: { status: 'paid' } }],
    ['was deleted', { $inc: { version: 1 }, $set: { status: 'deleted' } }],
  ] as const)('goes to another order if the first one %s without it', async (_, change) => {
    const { one, other, pay, reservation, paid } = await setUp()
    await pay(one, AFTER_RESERVATION)
    await orders.updateOne({ _id: one }, change)
    expect(await pay(other)).toEqual([APPLIED])
    expect(await pay(one)).not.toEqual([expect.objectContaining({ outcome: 'applied' })])
    expect(await paid()).toEqual([other])
    expect(await reservation()).toMatchObject({ orderId: other })
  })

  it('goes to another order if the first one is gone', async () => {
    const { one, other, pay, paid } = await setUp()
    await pay(one, AFTER_RESERVATION)
    await orders.deleteOne({ _id: one })
    expect(await pay(other)).toEqual([APPLIED])
    expect(await paid()).toEqual([other])
  })

  it('stays where it is while the first order cannot be read', async () => {
    const { one, other, pay } = await setUp()
    await pay(one, AFTER_RESERVATION)
    await db
      .collection<{ _id: string }>(ORDERS)
      .updateOne({ _id: one }, { $inc: { version: 1 }, $set: { paidBy: 'x' } })
    expect(await pay(other)).toEqual([UNAVAILABLE])
  })

  it('pays a later version of the order that it is reserved for', async () => {
    const { one, pay, reservation } = await setUp()
    await pay(one, AFTER_RESERVATION)
    await orders.updateOne({ _id: one }, { $inc: { version: 1 } })
    expect(await pay(one)).toEqual([{ outcome: 'applied', version: 3 }])
    expect(await reservation()).toMatchObject({ orderId: one, version: 2 })
  })

  it('pays an earlier version of its order, which was restored from a backup', async () => {
    const { one, pay, reservation } = await setUp()
    await orders.updateOne({ _id: one }, { $inc: { version: 5 } })
    await pay(one, AFTER_RESERVATION)
    await orders.updateOne({ _id: one }, { $inc: { version: -3 } })
    expect(await pay(one)).toEqual([{ outcome: 'applied', version: 4 }])
    expect(await reservation()).toMatchObject({ orderId: one, version: 6 })
  })

  it('does not pay by an update that arrives after the reservation was lost, though the order is open again', async () => {
    const { one, other, pay, paid } = await setUp()
    const held = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const before = (name: string, collection: unknown): Promise<void> | void => {
      if (name !== 'update' || collection !== ORDERS) return
      arrived.resolve()
      return held.promise
    }
    const late = pay(one, { db: dbAround(db, { before }) })
    await arrived.promise
    // Deleted and created again.
    await orders.updateOne({ _id: one }, { $inc: { version: 2 } })
    expect(await pay(other)).toEqual([APPLIED])
    held.resolve()
    expect(await late).toEqual([USED])
    expect(await paid()).toEqual([other])
  })

  it('is not moved from a version that was reserved again meanwhile', async () => {
    const { one, other, pay, paid } = await setUp()
    await pay(one, AFTER_RESERVATION)
    await orders.updateOne({ _id: one }, { $inc: { version: 1 } })
    let isFirst = true
    const before = async (name: string, collection: unknown): Promise<void> => {
      if (!isFirst || name !== 'update' || collection !== PAYMENTS) return
      isFirst = false
      expect(await pay(one)).toEqual([{ outcome: 'applied', version: 3 }])
    }
    expect(await pay(other, { db: dbAround(db, { before }) })).toEqual([USED])
    expect(isFirst).toBe(false)
    expect(await paid()).toEqual([one])
  })

  it.each([
    ['a majority does not confirm it', { writeConcernError: { code: 64, errmsg: 'waiting timed out' } }],
    ['the connection breaks', { closeConnection: true }],
  ])('pays nothing while %s, and pays at the retry', async (_, how) => {
    const { one, pay, paid } = await setUp()
    {
      await using _failing = await armFailPoint(database.uri, { commands: ['insert'], appName: place.appName, how })
      expect(await pay(one)).toEqual([UNAVAILABLE])
    }
    expect(await paid()).toEqual([])
    expect(await pay(one)).toEqual([APPLIED])
  })

  it('answers for each payment of a call in its place', async () => {
    const { one, other, paymentId, pay } = await setUp()
    await pay(one)
    const [free = '', failing = ''] = await insertOrders(2)
    const results = await place.apply([
      sampleEvent({ orderId: free }),
      sampleEvent({ orderId: other, paymentId, ifMatch: '*' }),
      sampleEvent({ orderId: failing, type: 'payment.failed' }),
      sampleEvent({ orderId: 'o_unknown' }),
    ])
    expect(results).toEqual([APPLIED, USED, APPLIED, { refused: 'order_unknown', retry: 'later' }])
  })
})

const MOMENTS = [
  'before the reservation',
  'after the reservation',
  'before the order',
  'after the order',
  'never',
] as const
type Moment = (typeof MOMENTS)[number]

/** A database of a process that dies at this moment. */
function dyingAt(moment: Moment) {
  const at = { 'before the reservation': 'insert', 'after the reservation': 'insert' } as const
  const isAt = (name: string, collection: unknown): boolean =>
    moment in at ? name === 'insert' : name === 'update' && collection === ORDERS
  const dieAt = (when: 'before' | 'after') => (name: string, collection: unknown) => {
    if (moment.startsWith(when) && isAt(name, collection)) died()
  }
  return dbAround(db, { before: dieAt('before'), after: dieAt('after') })
}

describe('two processes with one payment for two orders', () => {
  const pairs = MOMENTS.flatMap((first) => MOMENTS.map((second) => [first, second] as const))
  it.each(pairs)('pay one order if the first one dies %s and the second one %s', async (first, second) => {
    const { one, other, pay, paid, reservation } = await setUp()
    await Promise.all([pay(one, { db: dyingAt(first) }), pay(other, { db: dyingAt(second) })])
    for (let tries = 0; (await paid()).length === 0; tries += 1) {
      expect(tries).toBeLessThan(3)
      await Promise.all([pay(other), pay(one)])
    }
    const results = await Promise.all([pay(one), pay(other)])
    const [winner] = await paid()
    expect(await paid()).toHaveLength(1)
    expect(await reservation()).toMatchObject({ orderId: winner })
    expect(results.flat()).toContainEqual(USED)
    expect(results.flat()).toContainEqual({ outcome: 'duplicate', version: 2 })
  })
})

describe('a process without reservations beside one with them', () => {
  it.each([
    ['index', 'reservation'],
    ['reservation', 'index'],
  ] satisfies [PaymentGuard, PaymentGuard][])('pays one order, if %s is first', async (first, second) => {
    await using beside = await openPaymentPlace(process.env, 'index')
    await ensureIndexes(beside.db, [ORDER_INDEXES])
    const { one, other, pay, paid } = await setUp(beside)
    expect(await pay(one, { guard: first })).toEqual([APPLIED])
    expect(await pay(other, { guard: second })).toEqual([USED])
    expect(await paid()).toEqual([one])
  })

  it('pays one order, however the two cross', async () => {
    await using beside = await openPaymentPlace(process.env, 'index')
    for (let round = 0; round < 20; round += 1) {
      const { one, other, pay, paid } = await setUp(beside)
      const both = await Promise.all([pay(one, { guard: 'index' }), pay(other, { guard: 'reservation' })])
      expect(both.flat()).toContainEqual(APPLIED)
      expect(await paid()).toHaveLength(1)
    }
  })
})
