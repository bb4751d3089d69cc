import type { ApplyResult, PaymentProcedures } from '@oncehook/gateway/handlers/fulfilment/apply-payments'
import type { PaymentCommand } from '@oncehook/gateway/handlers/fulfilment/payment-command'
import {
  createFulfilmentClient,
  createPaymentProcedures,
  toFulfilmentError,
} from '@oncehook/gateway/http/fulfilment-client'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { testServiceTokens } from '@oncehook/kernel/testing/test-service-tokens'
import { type Clock, systemClock } from '@oncehook/kernel/time/clock'
import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd, type NeededState } from './consumer-contract.ts'
import {
  absent,
  data,
  failed,
  openGatewayContract,
  paid,
  pending,
  refusal,
  state,
  TIME,
  time,
} from './gateway-contract.ts'

const { integer, regex, reify } = MatchersV3

const gateway = await openGatewayContract(process.env, (router) => router !== 'orders')
compareAtTheEnd(gateway)
const { expectCall, callOperator } = gateway

function clientOf(url: string, clock: Clock = systemClock) {
  const tokens = testServiceTokens(new Secret('a-secret-that-signs-nothing-that-counts'), { clock })
  return createFulfilmentClient(new URL(url), tokens, globalThis.fetch, 5_000)
}

function procedures(url: string, clock?: Clock): PaymentProcedures {
  return createPaymentProcedures(clientOf(url, clock))
}

type Event = PaymentCommand & { readonly ifMatch: string }

function eventFor(name: string, members: Partial<Event> = {}): Event {
  const event = { provider: 'acme', eventId: `evt_${name}`, type: 'payment.succeeded' as const }
  const payment = { paymentId: `pay_${name}`, orderId: `ord_${name}`, amount: 1999, currency: 'EUR', ifMatch: '"1"' }
  return { ...event, ...payment, ...members }
}

describe('the gateway as a sender of payments', () => {
  it('asks for the versions of orders', async () => {
    const orderIds = ['ord_present', 'ord_absent']
    const call = { does: 'asks for the versions of orders', procedure: 'payments.versions', kind: 'query' } as const
    const states = [pending('present', 3), absent('absent')]
    const answer = data({ ord_present: 3, ord_absent: null })
    await expectCall({ ...call, states, input: { orderIds }, answer }, async (url) => {
      const versions = await procedures(url).versions(orderIds)
      expect(Object.fromEntries(versions)).toEqual({ ord_present: 3, ord_absent: null })
    })
  })

  it('asks for the versions of orders that no address holds', async () => {
    const orderIds = Array.from({ length: 20 }, (_, index) => `ord_absent_${index}_${'x'.repeat(200)}`)
    const call = { does: 'asks for the versions of orders that no address holds', procedure: 'payments.versions' }
    const answer = data(Object.fromEntries(orderIds.map((id) => [id, null])))
    await expectCall({ ...call, kind: 'mutation', input: { orderIds }, answer }, async (url) => {
      expect(await procedures(url).versions(orderIds)).toEqual(new Map(orderIds.map((id) => [id, null])))
    })
  })

  interface Applied {
    readonly does: string
    readonly states: readonly NeededState[]
    readonly events: readonly Event[]
    readonly results: readonly ApplyResult[]
  }

  it.each<Applied>([
    {
      does: 'hands on a payment of an order',
      states: [pending('applied')],
      events: [eventFor('applied', { occurredAt: TIME })],
      results: [{ outcome: 'applied', version: 2 }],
    },
    {
      does: 'hands on a payment that failed',
      states: [pending('failed')],
      events: [eventFor('failed', { type: 'payment.failed' })],
      results: [{ outcome: 'applied', version: 2 }],
    },
    {
      does: 'hands on a payment again, with the version of before',
      states: [paid('duplicate')],
      events: [eventFor('duplicate')],
      results: [{ outcome: 'duplicate', version: 2 }],
    },
    {
      does: 'hands on an event again that says something else',
      states: [paid('changed')],
      events: [eventFor('changed', { amount: 1 })],
      results: [{ refused: 'event_mismatch', retry: 'never' }],
    },
    {
      does: 'hands on a failure of an order that was paid since',
      states: [paid('superseded')],
      events: [eventFor('superseded', { eventId: 'evt_late', type: 'payment.failed', ifMatch: '"2"' })],
      results: [{ outcome: 'superseded', version: 2 }],
    },
    {
      does: 'hands on a second payment of an order',
      states: [paid('twice')],
      events: [eventFor('twice', { eventId: 'evt_second', paymentId: 'pay_second', ifMatch: '"2"' })],
      results: [{ outcome: 'already_paid', version: 2 }],
    },
    {
      does: 'hands on a payment that has paid another order',
      states: [paid('first'), pending('second')],
      events: [eventFor('second', { paymentId: 'pay_first' })],
      results: [{ refused: 'payment_used_elsewhere', retry: 'never' }],
    },
    {
      does: 'hands on a payment with a stale If-Match',
      states: [pending('stale', 2)],
      events: [eventFor('stale')],
      results: [{ refused: 'precondition_failed', retry: 'now' }],
    },
    {
      does: 'hands on a payment of an unknown order',
      states: [absent('unknown')],
      events: [eventFor('unknown', { ifMatch: '*' })],
      results: [{ refused: 'order_unknown', retry: 'later' }],
    },
    {
      does: 'hands on a payment of a deleted order',
      states: [state('an order was deleted', { orderId: 'ord_deleted' })],
      events: [eventFor('deleted', { ifMatch: '*' })],
      results: [{ refused: 'order_deleted', retry: 'never' }],
    },
    {
      does: 'hands on a payment of another amount',
      states: [pending('amount')],
      events: [eventFor('amount', { amount: 1998 })],
      results: [{ refused: 'amount_mismatch', retry: 'never' }],
    },
    {
      does: 'hands on a payment in another currency',
      states: [pending('currency')],
      events: [eventFor('currency', { currency: 'USD' })],
      results: [{ refused: 'currency_mismatch', retry: 'never' }],
    },
    {
      does: 'hands on a payment that names no money',
      states: [pending('bare')],
      events: [withoutMoney(eventFor('bare'))],
      results: [{ outcome: 'applied', version: 2 }],
    },
    {
      does: 'hands on several payments, one of which is refused',
      states: [pending('one'), absent('none'), pending('other')],
      events: [eventFor('one'), eventFor('none', { ifMatch: '*' }), eventFor('other')],
      results: [
        { outcome: 'applied', version: 2 },
        { refused: 'order_unknown', retry: 'later' },
        { outcome: 'applied', version: 2 },
      ],
    },
    {
      does: 'hands on a payment of an order whose payment failed before',
      states: [failed('paid_at_last')],
      events: [eventFor('paid_at_last', { ifMatch: '"2"' })],
      results: [{ outcome: 'applied', version: 3 }],
    },
    {
      does: 'hands on a failure of an order whose payment failed later',
      states: [failed('failed_before')],
      events: [
        eventFor('failed_before', {
          ...{ type: 'payment.failed', ifMatch: '"2"', occurredAt: '2020-01-01T00:00:00.000Z' },
        }),
      ],
      results: [{ outcome: 'superseded', version: 2 }],
    },
    {
      does: 'hands on two events of one order in one call',
      states: [pending('both')],
      events: [
        eventFor('both', { eventId: 'evt_both_1', type: 'payment.failed' }),
        eventFor('both', { eventId: 'evt_both_2' }),
      ],
      results: [
        { outcome: 'applied', version: 2 },
        { outcome: 'applied', version: 3 },
      ],
    },
    {
      does: 'hands on one event twice in one call',
      states: [pending('repeated')],
      events: [eventFor('repeated'), eventFor('repeated')],
      results: [
        { outcome: 'applied', version: 2 },
        { outcome: 'duplicate', version: 2 },
      ],
    },
    {
      does: 'hands on payments of two orders, one of which is damaged',
      states: [state('an order is damaged', { orderId: 'ord_damaged' }), pending('sound')],
      events: [eventFor('damaged', { ifMatch: '*' }), eventFor('sound')],
      results: [
        { refused: 'internal', retry: 'later' },
        { outcome: 'applied', version: 2 },
      ],
    },
  ])('$does', async ({ does, states, events, results }) => {
    const call = { does, states, procedure: 'payments.applyEvents', kind: 'mutation', input: { events } } as const
    await expectCall({ ...call, answer: data({ results }) }, async (url) => {
      expect(await procedures(url).applyEvents(events)).toEqual(results)
    })
  })

  it('sends an event that cannot be read', async () => {
    const events = [eventFor('unreadable', { provider: ' ' })]
    const call = { does: 'hands on an event that cannot be read', procedure: 'payments.applyEvents' }
    const answer = refusal(400, 'invalid_request')
    await expectCall({ ...call, kind: 'mutation', input: { events }, answer }, async (url) => {
      const refused = procedures(url).applyEvents(events)
      await expect(refused).rejects.toMatchObject({ code: 'invalid_request', status: 400, retry: 'never' })
    })
  })

  const anHourAgo = { now: () => Date.now() - 3_600_000 }
  it.each([
    { does: 'asks with a token that has expired', clock: anHourAgo, known: 'the token of the caller has expired' },
    { does: 'asks without a token', clock: systemClock, known: 'the caller has no token', anonymous: true },
    { does: 'asks with a token of somebody else', clock: systemClock, known: 'the caller has another secret' },
  ])('$does', async ({ clock, known, ...more }) => {
    const call = { ...more, procedure: 'payments.versions', kind: 'query', input: { orderIds: ['ord_1'] } } as const
    const answer = refusal(401, 'unauthenticated')
    const challenged = { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': 'Bearer' } }
    await expectCall({ ...call, states: [{ description: known }], answer: challenged }, async (url) => {
      // Neither an event nor a caller could do anything about this.
      const refused = procedures(url, clock).versions(['ord_1'])
      await expect(refused).rejects.toMatchObject({ code: 'unavailable', status: 503, retry: 'later' })
    })
  })
})

function withoutMoney({ amount: _, currency: __, ...event }: Event): Event {
  return event
}

describe('the gateway as an eraser of personal data', () => {
  const kind = 'mutation'

  it('asks for the orders of a customer, but not in the URL', async () => {
    const does = 'asks which orders hold something of a customer'
    const states = [state('there is an order of a customer', { orderId: 'ord_of_one', customerId: 'cus_one' })]
    const answer = data({ orders: [{ id: 'ord_of_one', isSettled: true }] })
    const input = { customerId: 'cus_one' }
    await expectCall({ does, states, procedure: 'erasures.find', kind, input, answer }, async (url) => {
      const found = await clientOf(url).erasures.find.query(input, { context: { byPost: true } })
      expect(found).toEqual({ orders: [{ id: 'ord_of_one', isSettled: true }] })
    })
  })

  it('erases orders', async () => {
    const input = { orderIds: ['ord_erased'] }
    const answer = data({ erased: 1 })
    const call = { does: 'erases orders', states: [pending('erased')], procedure: 'erasures.erase' }
    await expectCall({ ...call, kind, input, answer }, async (url) => {
      expect(await clientOf(url).erasures.erase.mutate(input)).toEqual({ erased: 1 })
    })
  })
})

describe('the gateway as a rotator of encryption keys', () => {
  it('asks which keys there are', async () => {
    const answer = data({ firstKey: null, keys: [], missing: [], leaving: [] })
    const call = {
      does: 'asks which keys of encryption there are',
      procedure: 'encryption.status',
      kind: 'query',
    } as const
    await expectCall({ ...call, input: {}, answer }, async (url) => {
      const none = { firstKey: null, keys: [], missing: [], leaving: [] }
      expect(await clientOf(url).encryption.status.query({})).toEqual(none)
    })
  })

  it.each(['orders', 'idempotency_keys'] as const)(
    'has a part of %s encrypted by the first key',
    async (collection) => {
      const input = { collection, after: null, dryRun: true }
      const answer = data({ examined: integer(0), changed: 0, unknown: 0, altered: 0, next: null })
      const does = `counts what is to be encrypted anew of ${collection}`
      await expectCall({ does, procedure: 'encryption.rotate', kind: 'mutation', input, answer }, async (url) => {
        const part = await clientOf(url).encryption.rotate.mutate(input)
        expect(part).toEqual({ examined: 0, changed: 0, unknown: 0, altered: 0, next: null })
      })
    },
  )

  it('has nothing encrypted by a key that is not the first of fulfilment', async () => {
    const input = { collection: 'orders', key: 'another', after: null, dryRun: false } as const
    const does = 'rotates to a key that fulfilment does not encrypt by'
    const call = { does, procedure: 'encryption.rotate', kind: 'mutation', input } as const
    const answer = refusal(409, 'encryption_key_differs', { retry: 'later' })
    await expectCall({ ...call, answer }, async (url) => {
      const refused = await clientOf(url).encryption.rotate.mutate(input).catch(toFulfilmentError)
      expect(refused).toMatchObject({ status: 409, code: 'encryption_key_differs' })
    })
  })

  it('retires keys that are no longer used', async () => {
    const answer = data({ retired: [], inUse: [] })
    const call = { does: 'lets keys of encryption go', procedure: 'encryption.retire', kind: 'mutation' } as const
    const input = { key: 'first' }
    await expectCall({ ...call, input, answer }, async (url) => {
      expect(await clientOf(url).encryption.retire.mutate(input)).toEqual({ retired: [], inUse: [] })
    })
  })
})

describe('the gateway as a reader of receipts', () => {
  const RECEIPT = {
    ...{ key: 'rcp_parked', orderId: 'ord_parked', paymentId: 'pay_parked', amount: 1999, currency: 'EUR' },
    ...{ paidAt: time(), state: 'parked', attempts: 2, sentAt: null },
    lastError: { code: 'receipt_refused', at: time() },
  }
  const KEY = regex(/^rcpt_[0-9a-f]{32}$/, `rcpt_${'0'.repeat(32)}`)
  const receiptOf = (name: string, members: object) => {
    const named = { key: KEY, orderId: `ord_${name}`, paymentId: `pay_${name}` }
    return { ...RECEIPT, ...named, lastError: null, ...members }
  }
  // As fulfilment writes the end of a page.
  const cursor = (...parts: string[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')

  it.each([
    {
      does: 'lists receipts',
      states: [state('a receipt is parked', { name: 'parked' })],
      input: { orderId: 'ord_parked', state: 'parked', limit: 1 },
      page: { items: [RECEIPT], next: null },
    },
    {
      does: 'lists a receipt that was sent',
      states: [state('a receipt was sent', { name: 'sent' })],
      input: { orderId: 'ord_sent', state: 'sent', limit: 20 },
      page: { items: [receiptOf('sent', { state: 'sent', attempts: 1, sentAt: time() })], next: null },
    },
    {
      does: 'lists a receipt that is owed',
      states: [state('a receipt is owed', { name: 'owed' })],
      input: { orderId: 'ord_owed', state: 'owed', limit: 20 },
      page: { items: [receiptOf('owed', { state: 'owed', attempts: 0 })], next: null },
    },
    {
      does: 'lists the first page of receipts',
      states: [state('a receipt is parked', { name: 'page_1' }), state('a receipt is parked', { name: 'page_2' })],
      input: { state: 'parked', limit: 1, after: cursor('ord_page_0', '') },
      page: {
        items: [{ ...RECEIPT, key: 'rcp_page_1', orderId: 'ord_page_1', paymentId: 'pay_page_1' }],
        next: cursor('ord_page_1', 'rcp_page_1'),
      },
    },
    {
      does: 'lists the second page of receipts',
      states: [state('a receipt is parked', { name: 'rest_1' }), state('a receipt is parked', { name: 'rest_2' })],
      input: { state: 'parked', limit: 1, after: cursor('ord_rest_1', 'rcp_rest_1') },
      page: {
        items: [{ ...RECEIPT, key: 'rcp_rest_2', orderId: 'ord_rest_2', paymentId: 'pay_rest_2' }],
        next: null,
      },
    },
  ])('$does', async ({ does, states, input, page }) => {
    const call = { does, procedure: 'receipts.list', kind: 'query', input, states } as const
    await expectCall({ ...call, answer: data(page) }, async () => {
      const { status, json } = await callOperator('GET', 'receipts.list', input)
      expect([status, json]).toEqual([200, { result: { data: reify(page as never) } }])
    })
  })

  it('lists receipts after something that is no cursor', async () => {
    const input = { limit: 20, after: 'x' }
    const call = { does: 'lists receipts after something that is no cursor', procedure: 'receipts.list', input }
    await expectCall({ ...call, kind: 'query', answer: refusal(400, 'invalid_request') }, async () => {
      const { status, json } = await callOperator('GET', 'receipts.list', input)
      expect([status, json]).toMatchObject([400, { error: { data: { reason: 'invalid_request' } } }])
    })
  })

  it('releases a receipt', async () => {
    const states = [state('a receipt is parked', { name: 'released' })]
    const input = { key: 'rcp_released' }
    const released = { key: 'rcp_released', orderId: 'ord_released' }
    const call = { does: 'releases a receipt', procedure: 'receipts.release', kind: 'mutation', input, states } as const
    await expectCall({ ...call, answer: data(released) }, async () => {
      const { status, json } = await callOperator('POST', 'receipts.release', {
        ...input,
        reason: 'the customer asked',
      })
      expect([status, json]).toEqual([200, { result: { data: released } }])
    })
  })

  it.each([
    { does: 'releases a receipt that is not parked', key: 'rcp_of_nobody', states: [] },
    {
      does: 'releases a receipt that was sent',
      key: `rcpt_of_a_sent_one`,
      states: [state('a receipt was sent', { name: 'sent_before', key: 'rcpt_of_a_sent_one' })],
    },
  ])('$does', async ({ does, key, states }) => {
    const call = { does, procedure: 'receipts.release', kind: 'mutation', input: { key } } as const
    const known = states.length === 0 ? {} : { states }
    await expectCall({ ...call, ...known, answer: refusal(404, 'receipt_not_parked') }, async () => {
      const { status, json } = await callOperator('POST', 'receipts.release', { key, reason: 'the customer asked' })
      expect([status, json]).toMatchObject([404, { error: { data: { reason: 'receipt_not_parked' } } }])
    })
  })
})
