import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { newOrder, ORDERS } from '../../orders/stored/order-document.ts'
import { dbAround, openPaymentPlace, type PaymentPlace } from '../../testing/payment-place.ts'
import { sampleEvent, sampleOrder } from '../../testing/samples.ts'
import {
  arePaymentsReserved,
  notePaymentsUnreserved,
  RESERVED,
  type ReservedProgress,
  reserveStoredPayments,
} from './stored-payments.ts'

const NEVER = new AbortController().signal

/** A database whose orders were paid without reservations. */
async function paidBefore(count: number): Promise<PaymentPlace & { readonly ids: readonly string[] }> {
  const place = await openPaymentPlace(process.env, 'index')
  const ids = await place.insertOrders(count)
  await payWithout(place, ids)
  return { ...place, ids }
}

async function payWithout(place: PaymentPlace, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += 500) {
    const events = ids.slice(from, from + 500).map((orderId) => sampleEvent({ orderId }))
    const results = await place.apply(events, { guard: 'index' })
    expect(results.every((result) => 'outcome' in result && result.outcome === 'applied')).toBe(true)
  }
}

function progressOf({ db }: PaymentPlace): Promise<ReservedProgress | null> {
  return db.collection<ReservedProgress>('housekeeping').findOne({ _id: RESERVED })
}

const reservationsOf = async ({ payments }: PaymentPlace): Promise<string[][]> =>
  (await payments.find().toArray()).map(({ _id, orderId }) => [_id.id, orderId]).toSorted()

const checksOf = ({ lines }: PaymentPlace) => lines.filter(({ msg }) => msg === 'payment.reservations-checked')

it('reserves the payments of all stored orders, deleted ones too, and is complete when nothing is left', async () => {
  await using place = await paidBefore(3)
  await place.orders.updateOne({ _id: place.ids[0] ?? '' }, { $set: { status: 'deleted' } })
  await place.insertOrders(2)
  await reserveStoredPayments(place.guardDeps, NEVER)
  expect(await reservationsOf(place)).toEqual(place.ids.map((id) => [`pay_${id}`, id]).toSorted())
  expect(await arePaymentsReserved(place.db)).toBe(true)
  expect(checksOf(place)).toMatchObject([
    { found: 3, complete: false },
    { found: 0, complete: true },
  ])
})

it('resumes after the slice that an earlier process had noted', async () => {
  await using place = await paidBefore(501)
  const stopping = new AbortController()
  const stop = ({ commandName }: { readonly commandName: string }): void => {
    if (commandName === 'insert') stopping.abort()
  }
  place.client.on('commandSucceeded', stop)
  await reserveStoredPayments(place.guardDeps, stopping.signal)
  place.client.off('commandSucceeded', stop)
  expect(await progressOf(place)).toMatchObject({ after: place.ids.toSorted()[499], found: 500, doneAt: null })
  expect(await arePaymentsReserved(place.db)).toBe(false)

  await reserveStoredPayments(place.guardDeps, NEVER)
  expect(await place.payments.countDocuments()).toBe(501)
  expect(checksOf(place)).toMatchObject([
    { found: 501, complete: false },
    { found: 0, complete: true },
  ])
})

it('is not complete before a whole pass has found nothing: another process may still pay without', async () => {
  await using place = await paidBefore(1)
  const late = await place.insertOrders(1)
  const after = async (name: string): Promise<void> => {
    // Only the first time.
    if (name === 'insert') await payWithout(place, late.splice(0))
  }
  const [lateId] = late
  const deps = { ...place.guardDeps, db: dbAround(place.db, { after }) }
  await reserveStoredPayments(deps, NEVER)
  // The second pass has found it, and a third one is needed.
  expect(await place.payments.countDocuments({ orderId: lateId ?? '' })).toBe(1)
  expect(await arePaymentsReserved(place.db)).toBe(false)
  await reserveStoredPayments(deps, NEVER)
  expect(await arePaymentsReserved(place.db)).toBe(true)
})

it('moves a reservation to the order that the payment has paid, and no late update pays the other one', async () => {
  await using place = await openPaymentPlace(process.env, 'index')
  const [first = '', second = ''] = await place.insertOrders(2)
  const pay = (orderId: string, guard: 'index' | 'reservation', db = place.db) =>
    place.apply([sampleEvent({ orderId, paymentId: 'pay_1', ifMatch: '*' })], { guard, db })
  const held = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const before = (name: string, collection: unknown): Promise<void> | void => {
    if (name !== 'update' || collection !== ORDERS) return
    arrived.resolve()
    return held.promise
  }
  const late = pay(first, 'reservation', dbAround(place.db, { before }))
  await arrived.promise
  expect(await pay(second, 'index')).toEqual([{ outcome: 'applied', version: 2 }])

  await reserveStoredPayments(place.guardDeps, NEVER)
  expect(await reservationsOf(place)).toEqual([['pay_1', second]])
  expect(place.lines.filter(({ msg }) => msg === 'payment.reservation-corrected')).toMatchObject([
    { orderId: second, otherOrderId: first },
  ])
  expect(await arePaymentsReserved(place.db)).toBe(true)
  await place.orders.dropIndex('payment_pays_one_order')
  held.resolve()
  expect(await late).toEqual([{ refused: 'payment_used_elsewhere', retry: 'never' }])
  expect(await place.orders.findOne({ _id: first })).toMatchObject({ status: 'pending', version: 2 })
})

it('says so, and changes nothing, if a payment has paid two orders', async () => {
  await using place = await openPaymentPlace(process.env, 'reservation')
  const paidBy = [{ provider: 'acme', id: 'pay_1' }]
  const stored = ['one', 'two'].map((id) => ({ ...newOrder(id, sampleOrder(), new Date()), paidBy }))
  await place.orders.insertMany(stored)
  await notePaymentsUnreserved(place.db)
  await reserveStoredPayments(place.guardDeps, NEVER)
  expect(await reservationsOf(place)).toEqual([['pay_1', 'one']])
  expect(place.lines.filter(({ msg }) => msg === 'payment.paid-two-orders')).toMatchObject([
    { level: 'error', orderId: 'two', otherOrderId: 'one' },
  ])
})

it('does not count a pass after its document was removed: it may have passed the new payments already', async () => {
  await using place = await paidBefore(1)
  const other = { pass: 'other', startedAt: new Date(), after: '', found: 0, doneAt: null, cleanFrom: null }
  const after = async (name: string): Promise<void> => {
    if (name !== 'insert') return
    await notePaymentsUnreserved(place.db)
    await place.db.collection<ReservedProgress>('housekeeping').insertOne({ _id: RESERVED, ...other })
  }
  await reserveStoredPayments({ ...place.guardDeps, db: dbAround(place.db, { after }) }, NEVER)
  expect(await progressOf(place)).toMatchObject(other)
  await reserveStoredPayments(place.guardDeps, NEVER)
  expect(await arePaymentsReserved(place.db)).toBe(true)
})

it('begins a new pass if somebody asks for one, and stays complete meanwhile', async () => {
  await using place = await paidBefore(1)
  await reserveStoredPayments(place.guardDeps, NEVER)
  const first = await progressOf(place)
  await reserveStoredPayments(place.guardDeps, NEVER)
  expect(await progressOf(place)).toEqual(first)
  const asked = { $set: { startedAt: new Date(0) } }
  await place.db.collection<ReservedProgress>('housekeeping').updateOne({ _id: RESERVED }, asked)
  expect(await arePaymentsReserved(place.db)).toBe(true)
  await reserveStoredPayments(place.guardDeps, NEVER)
  const second = await progressOf(place)
  expect(second?.pass).not.toBe(first?.pass)
  expect(second?.cleanFrom?.getTime()).toBeGreaterThan(first?.cleanFrom?.getTime() ?? 0)
})

it('reserves each payment once if several processes work at the same time', async () => {
  await using place = await paidBefore(600)
  const signals = [NEVER, NEVER, NEVER]
  await expect
    .poll(async () => {
      await Promise.all(signals.map((signal) => reserveStoredPayments(place.guardDeps, signal)))
      return await arePaymentsReserved(place.db)
    })
    .toBe(true)
  expect(await place.payments.countDocuments()).toBe(600)
})

it('ignores what is no payment in a stored order', async () => {
  await using place = await openPaymentPlace(process.env, 'index')
  const damaged = [{ paidBy: 'x' }, { paidBy: [null, 7, { provider: 1, id: 'a' }, { provider: 'acme', id: 'good' }] }]
  await place.db.collection(ORDERS).dropIndexes()
  await place.db.collection<{ _id: string }>(ORDERS).insertMany(damaged.map((one) => ({ _id: randomUUID(), ...one })))
  await reserveStoredPayments(place.guardDeps, NEVER)
  expect((await reservationsOf(place)).map(([id]) => id)).toEqual(['good'])
})
