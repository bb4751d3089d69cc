import { describe, expect, it } from 'vitest'
import type { VerifiedDelivery } from '../../delivery.ts'
import type { WebhookEvent } from '../../event.ts'
import { makeProvider, onlyEvent } from '../../testing/make-provider.ts'

function read(body: object, settings: object = {}): WebhookEvent {
  const provider = makeProvider({
    settings: { scheme: 'stripe', ...settings },
    secrets: [{ value: 'whsec_test_secret' }],
  })
  return onlyEvent(
    provider.readEvents({ rawBody: Buffer.from(JSON.stringify(body)), secretId: 's1' } as VerifiedDelivery),
  )
}

describe('stripe', () => {
  it.each([
    ['invoice.upcoming', { object: 'invoice', customer: 'cus_1', currency: 'usd', amount_due: 2_000 }],
    ['balance.available', { object: 'balance', available: [{ amount: 0, currency: 'usd' }] }],
    ['cash_balance.funds_available', { object: 'cash_balance', customer: 'cus_1', id: null }],
  ])('takes %s, whose object has no id', (type, object) => {
    const event = { id: 'evt_1', object: 'event', created: 1_760_000_000, livemode: true, type, data: { object } }
    const facts = { orderId: '', occurredAt: '2025-10-09T08:53:20.000Z' }
    expect(read(event)).toMatchObject({ id: 'evt_1', type, facts })
    expect(read(event)).not.toHaveProperty('objectId')
  })

  it.each([
    ['a ping', 'v2.core.event_destination.ping', { id: 'ed_1', type: 'v2.core.event_destination' }, 'ed_1'],
    ['an event of an object', 'v1.billing.meter.error_report_triggered', { id: 'mtr_1' }, 'mtr_1'],
    ['an event of no object', 'v1.billing.meter.no_meter_found', null, undefined],
  ])('takes thin events: %s', (_, type, object, objectId) => {
    const thin = { id: 'evt_2', object: 'v2.core.event', created: '2026-11-28T13:40:00.000Z', livemode: true }
    expect(read({ ...thin, type, related_object: object, reason: null })).toEqual({
      ...{ id: 'evt_2', type, ...(objectId === undefined ? {} : { objectId }) },
      facts: { orderId: objectId ?? '', occurredAt: '2026-11-28T13:40:00.000Z' },
    })
  })

  it('takes an event without an id by the hash of its bytes', () => {
    const event = read({ type: 'customer.created', livemode: true, data: { object: { id: 'cus_1' } } })
    expect(event).toMatchObject({ id: expect.stringMatching(/^sha256:/), type: 'customer.created', objectId: 'cus_1' })
  })

  it('gives a payment without its id no effect, and does not refuse it', () => {
    const event = { id: 'evt_1', type: 'payment_intent.succeeded', livemode: true, data: { object: { amount: 1 } } }
    expect(read(event)).toMatchObject({ type: 'unreadable', facts: { withheld: 'unreadable' } })
  })

  it.each([
    [
      'checkout.session.completed',
      { id: 'cs_1', object: 'checkout.session', amount_subtotal: 1500, amount_total: 1999 },
    ],
    ['invoice.paid', { id: 'in_1', object: 'invoice', amount_due: 2500, amount_paid: 1999 }],
  ])('reads the amount of %s that the settings map to a success', (type, members) => {
    const object = { currency: 'eur', metadata: { order_id: 'ord_1' }, ...members }
    const { facts } = read({ id: 'evt_1', type, data: { object } }, { events: { [type]: 'payment.succeeded' } })
    expect(facts).toMatchObject({ orderId: 'ord_1', amount: 1999, currency: 'EUR' })
  })
})

describe('an object of Stripe that is not paid', () => {
  const session = {
    id: 'cs_1',
    object: 'checkout.session',
    amount_total: 1999,
    currency: 'eur',
    payment_status: 'unpaid',
  }
  const charge = {
    id: 'ch_1',
    object: 'charge',
    amount: 1999,
    amount_captured: 0,
    captured: false,
    paid: true,
    currency: 'eur',
  }
  const invoice = { id: 'in_1', object: 'invoice', amount_paid: 0, amount_due: 1999, currency: 'eur', status: 'open' }
  const settings = { expect: {}, testMode: true }

  function readMapped(type: string, object: object, events: Readonly<Record<string, string>> = {}): WebhookEvent {
    const body = { id: 'evt_1', livemode: false, type, data: { object } }
    return read(body, { ...settings, events: { [type]: 'payment.succeeded', ...events } })
  }

  it.each([
    ['a session of a customer who pays later by bank', 'checkout.session.completed', session],
    ['a charge that is only authorised', 'charge.succeeded', charge],
    ['a charge of a bank that is pending', 'charge.pending', { ...charge, captured: true, paid: false }],
    ['an invoice that is open', 'invoice.updated', invoice],
  ])('is no success, whatever its type is mapped to: %s', (_, type, object) => {
    expect(readMapped(type, object)).toMatchObject({ type, facts: { withheld: 'not_paid' } })
  })

  it.each([
    ['a session that is paid', 'checkout.session.completed', { ...session, payment_status: 'paid' }, 1999],
    [
      'a session without a cost',
      'checkout.session.completed',
      { ...session, payment_status: 'no_payment_required' },
      1999,
    ],
    [
      'a session of an API version without a status',
      'checkout.session.completed',
      { ...session, payment_status: undefined },
      1999,
    ],
    [
      'a session that was paid later',
      'checkout.session.async_payment_succeeded',
      { ...session, payment_status: 'paid' },
      1999,
    ],
    ['a charge that was captured', 'charge.succeeded', { ...charge, captured: true, amount_captured: 1999 }, 1999],
    ['a part of a charge', 'charge.captured', { ...charge, captured: true, amount_captured: 500 }, 500],
    ['an invoice that is paid', 'invoice.paid', { ...invoice, status: 'paid', amount_paid: 1999 }, 1999],
  ])('is not %s', (_, type, object, amount) => {
    const { type: ours, facts } = readMapped(type, object)
    expect({ ours, amount: facts.amount, withheld: facts.withheld }).toEqual({
      ours: 'payment.succeeded',
      amount,
      withheld: undefined,
    })
  })

  it('counts if the settings map its type with its state', () => {
    const authorised = readMapped('charge.succeeded', charge, { 'charge.succeeded.uncaptured': 'payment.succeeded' })
    expect(authorised).toMatchObject({ type: 'payment.succeeded', facts: { amount: 1999 } })
    expect(authorised.facts).not.toHaveProperty('withheld')
    const events = { 'checkout.session.completed.unpaid': 'payment.succeeded' }
    expect(readMapped('checkout.session.completed', session, events)).toMatchObject({ type: 'payment.succeeded' })
  })

  it('is a failure as before, and keeps its name where nothing is mapped', () => {
    const failed = { 'checkout.session.async_payment_failed': 'payment.failed' }
    expect(readMapped('checkout.session.async_payment_failed', session, failed).type).toBe('payment.failed')
    const body = { id: 'evt_1', livemode: false, type: 'checkout.session.completed', data: { object: session } }
    expect(read(body, settings)).toMatchObject({ type: 'checkout.session.completed' })
    expect(read(body, settings).facts).not.toHaveProperty('withheld')
  })
})
