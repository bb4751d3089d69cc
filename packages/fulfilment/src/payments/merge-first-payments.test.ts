import { Binary } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type LiveOrder, newOrder } from '../orders/stored/order-document.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { mergeFirstPayments, type PlannedUpdate } from './commit-changes.ts'
import { decideOrder } from './decide-order.ts'
import { orderUpdate } from './order-update.ts'
import { eventHash } from './payment-event.ts'

const NOW = new Date('2026-11-21T10:00:00.000Z')
const SEALED = { wrapped: new Binary(Buffer.alloc(60)), text: new Binary(Buffer.alloc(40)) }
let made = 0

function planned(members: Partial<LiveOrder> = {}, type: 'payment.succeeded' | 'payment.failed' = 'payment.succeeded') {
  made += 1
  const order = { ...newOrder(`o${made}`, sampleOrder(), NOW), ...members }
  const event = sampleEvent({ orderId: order._id, type, ifMatch: '*' })
  const { change } = decideOrder(order, [{ ...event, hash: eventHash(event) }], { now: NOW, call: 'call_1' })
  if (change === null) throw new Error('Nothing changes')
  return { change, statement: orderUpdate(change, null) }
}

function times(count: number, members: Partial<LiveOrder> = {}): PlannedUpdate[] {
  return Array.from({ length: count }, () => planned(members))
}

function placesOf(all: readonly PlannedUpdate[]): (readonly number[])[] {
  return mergeFirstPayments(all).map(({ places }) => places)
}

describe('mergeFirstPayments', () => {
  it('merges four and more, and leaves fewer as they are', () => {
    expect(placesOf(times(4))).toEqual([[0, 1, 2, 3]])
    const few = times(3)
    expect(mergeFirstPayments(few)).toEqual(few.map(({ statement }, place) => ({ statement, places: [place] })))
  })

  it('merges only orders of the same version and the same key of their address', () => {
    const sealedBy = (key: string) => times(4, { email: { ...SEALED, key } })
    const all = [...times(4), ...times(4, { version: 2 }), ...sealedBy('first'), ...sealedBy('second')]
    const merged = mergeFirstPayments(all)
    expect(merged.map(({ places }) => places.length)).toEqual([4, 4, 4, 4])
    const kept = { version: 1, applied: { $size: 0 }, receipts: { $size: 0 }, paidBy: { $exists: false } }
    expect(merged).toMatchObject([
      { statement: { q: kept } },
      { statement: { q: { ...kept, version: 2 } } },
      { statement: { q: { ...kept, 'email.key': { $eq: 'first' } } } },
      { statement: { q: { ...kept, 'email.key': { $eq: 'second' } } } },
    ])
  })

  it.each([
    ['no payment', () => planned({}, 'payment.failed')],
    ['a payment before this one', () => planned({ paidBy: [{ provider: 'acme', id: 'pay_earlier' }] })],
    ['an event before this one', () => planned(appliedBefore())],
  ])('leaves a change as it is that has %s', (_, odd) => {
    expect(placesOf([...times(2), odd(), ...times(2)])).toEqual([[0, 1, 3, 4], [2]])
  })
})

function appliedBefore(): Partial<LiveOrder> {
  const { change } = planned({}, 'payment.failed')
  return { applied: change.markers.map((marker) => ({ ...marker, eventId: 'evt_earlier' })) }
}
