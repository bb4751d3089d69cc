import { describe, expect, it } from 'vitest'
import { newOrder, type OrderDocument } from '../orders/stored/order-document.ts'
import { sampleEvent, sampleOrder } from '../testing/samples.ts'
import { decideOrder, type IncomingEvent } from './decide-order.ts'
import { eventHash, type PaymentEvent } from './payment-event.ts'

const NOW = new Date('2026-11-21T10:00:00.000Z')
const CONTEXT = { now: NOW, call: 'call_1' }
const PENDING = newOrder('o1', sampleOrder(), NOW)

function incoming(members: Partial<PaymentEvent> = {}): IncomingEvent {
  const event = sampleEvent({ orderId: 'o1', ...members })
  return { ...event, hash: eventHash(event) }
}

/** The order after a decision was written, with the markers of other calls only. */
function after(order: OrderDocument, events: IncomingEvent[], call = 'call_0'): OrderDocument {
  const { change } = decideOrder(order, events, { now: NOW, call })
  if (change === null) throw new Error('Nothing changes')
  const { markers, paying, state, versionsUp } = change
  const applied = [...order.applied, ...markers]
  const { paidBy: [paid] = [], ...shown } = state ?? {}
  const paidBy = paying === null || paid === undefined ? {} : { paidBy: [{ ...paid, marker: paying }] }
  return { ...order, ...shown, ...paidBy, applied, version: order.version + versionsUp } as OrderDocument
}

describe('decideOrder', () => {
  it('pays a pending order and raises its version by one', () => {
    const { verdicts, change } = decideOrder(PENDING, [incoming()], CONTEXT)
    expect(verdicts).toEqual([{ outcome: 'applied', version: 2 }])
    expect(change).toMatchObject({ versionsUp: 1, state: { status: 'paid', access: 'unlocked' } })
    expect(change?.paying).toMatchObject({ eventId: 'evt_o1', outcome: 'applied', version: 2, call: 'call_1' })
    expect(change?.markers).toEqual([])
  })

  it('answers a duplicate with the stored version whatever the condition says', () => {
    const paid = after(PENDING, [incoming()])
    for (const ifMatch of ['"1"', '"99"', undefined]) {
      const { verdicts, change } = decideOrder(paid, [{ ...incoming(), ifMatch }], CONTEXT)
      expect(verdicts).toEqual([{ outcome: 'duplicate', version: 2 }])
      expect(change).toBeNull()
    }
  })

  it('refuses permanently an event id that comes again with other contents', () => {
    const paid = after(PENDING, [incoming()])
    const { verdicts } = decideOrder(paid, [incoming({ amount: 1 })], CONTEXT)
    expect(verdicts).toEqual([{ refused: 'event_mismatch', retry: 'never' }])
  })

  it('takes an event that occurs twice in a call for a duplicate of itself', () => {
    const { verdicts, change } = decideOrder(PENDING, [incoming(), incoming()], CONTEXT)
    expect(verdicts).toEqual([
      { outcome: 'applied', version: 2 },
      { outcome: 'duplicate', version: 2 },
    ])
    expect([change?.markers.length, change?.paying?.eventId]).toEqual([0, 'evt_o1'])
  })

  it('compares every condition of a group with the version that the group starts from', () => {
    const events = [
      incoming({ eventId: 'e1', type: 'payment.failed', paymentId: 'p1' }),
      incoming({ eventId: 'e2', paymentId: 'p2' }),
      incoming({ eventId: 'e3', paymentId: 'p2', ifMatch: '"2"' }),
    ]
    const { verdicts, change } = decideOrder(PENDING, events, CONTEXT)
    expect(verdicts).toEqual([
      { outcome: 'applied', version: 2 },
      { outcome: 'applied', version: 3 },
      { refused: 'precondition_failed', retry: 'now' },
    ])
    expect(change?.versionsUp).toBe(2)
  })

  it.each([
    [{ ifMatch: undefined }, { refused: 'precondition_required', retry: 'never' }],
    [{ ifMatch: '"7"' }, { refused: 'precondition_failed', retry: 'now' }],
    [{ ifMatch: 'W/"1"' }, { refused: 'precondition_failed', retry: 'now' }],
    [{ amount: 299 }, { refused: 'amount_mismatch', retry: 'never' }],
    [{ amount: 300.5 }, { refused: 'amount_mismatch', retry: 'never' }],
    [{ currency: 'USD' }, { refused: 'currency_mismatch', retry: 'never' }],
  ])('refuses %j', (members, refusal) => {
    const event = { ...incoming(), ...members }
    expect(decideOrder(PENDING, [event], CONTEXT)).toMatchObject({ verdicts: [refusal], change: null })
  })

  it.each([{ ifMatch: '*' }, { ifMatch: '"x", "1"' }, { currency: 'eur' }, { amount: undefined, currency: undefined }])(
    'applies %j',
    (members) => {
      const event = { ...incoming(), ...members }
      expect(decideOrder(PENDING, [event], CONTEXT).verdicts).toEqual([{ outcome: 'applied', version: 2 }])
    },
  )

  it('answers for an order that is not there, and for one that is there no more', () => {
    expect(decideOrder(null, [incoming()], CONTEXT).verdicts).toEqual([{ refused: 'order_unknown', retry: 'later' }])
    const tombstone: OrderDocument = { ...PENDING, status: 'deleted', deletedAt: NOW }
    const { verdicts, change } = decideOrder(tombstone, [incoming()], CONTEXT)
    expect(verdicts).toEqual([{ refused: 'order_deleted', retry: 'never' }])
    expect(change).toBeNull()
  })

  it('still knows an event that was applied before the order was deleted', () => {
    const tombstone = { ...after(PENDING, [incoming()]), status: 'deleted', deletedAt: NOW } as OrderDocument
    expect(decideOrder(tombstone, [incoming()], CONTEXT).verdicts).toEqual([{ outcome: 'duplicate', version: 2 }])
  })

  it('distinguishes a second payment from another event about the first', () => {
    const paid = after(PENDING, [incoming()])
    const again = incoming({ eventId: 'e2', ifMatch: '"2"' })
    const second = incoming({ eventId: 'e3', paymentId: 'p2', ifMatch: '"2"' })
    const { verdicts, paidTwice } = decideOrder(paid, [again, second], CONTEXT)
    expect(verdicts.map((verdict) => 'outcome' in verdict && verdict.outcome)).toEqual(['already_paid', 'already_paid'])
    expect(paidTwice).toEqual([second])
  })

  it('recognises its own update of an earlier round once', () => {
    const landed = after(PENDING, [incoming()], CONTEXT.call)
    const { verdicts, change } = decideOrder(landed, [incoming(), incoming()], CONTEXT)
    expect(verdicts).toEqual([
      { outcome: 'applied', version: 2 },
      { outcome: 'duplicate', version: 2 },
    ])
    expect(change).toBeNull()
  })
})
