import { type ApplyResult, applyPayments } from '@oncehook/gateway/handlers/fulfilment/apply-payments'
import type { PaymentCommand } from '@oncehook/gateway/handlers/fulfilment/payment-command'
import { type FulfilmentClient, toFulfilmentError } from '@oncehook/gateway/http/fulfilment-client'
import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd, type NeededState } from './consumer-contract.ts'
import {
  absent,
  type Call,
  data,
  failed,
  openGatewayContract,
  paid,
  pending,
  REQUEST_ID,
  refusal,
  state,
  TIME,
  time,
} from './gateway-contract.ts'

const { integer, regex, reify, string } = MatchersV3

const gateway = await openGatewayContract(process.env, (router) => router !== 'orders')
compareAtTheEnd(gateway)
const { expectCall, callOperator, fulfilment, applyEvents } = gateway

type Event = PaymentCommand & { readonly ifMatch: '*' }

function eventFor(name: string, members: Partial<Event> = {}): Event {
  const event = { provider: 'acme', eventId: `evt_${name}`, type: 'payment.succeeded' as const }
  const payment = { paymentId: `pay_${name}`, orderId: `ord_${name}`, amount: 1999, currency: 'EUR' }
  return { ...event, ...payment, ifMatch: '*', ...members }
}

function withoutMoney({ amount: _, currency: __, ...event }: Event): Event {
  return event
}

/** Events of one call, and what fulfilment says about each. */
interface Payments {
  readonly does: string
  readonly states: readonly NeededState[]
  readonly events: readonly Event[]
  readonly results: readonly ApplyResult[]
}

const applied = (version: number): ApplyResult => ({ outcome: 'applied', version })
const seen = (outcome: 'duplicate' | 'superseded' | 'already_paid'): ApplyResult => ({ outcome, version: 2 })
const refused = (reason: string, retry: 'later' | 'never' = 'never') => ({ refused: reason, retry }) as ApplyResult
const FAILS = { type: 'payment.failed' } as const

const PAYMENTS: readonly Payments[] = [
  {
    ...{ does: 'hands on a payment of an order', states: [pending('applied')], results: [applied(2)] },
    events: [eventFor('applied', { occurredAt: TIME })],
  },
  {
    ...{ does: 'hands on a payment that failed', states: [pending('failed')], results: [applied(2)] },
    events: [eventFor('failed', FAILS)],
  },
  {
    ...{ does: 'hands on a payment again', states: [paid('duplicate')] },
    ...{ events: [eventFor('duplicate')], results: [seen('duplicate')] },
  },
  {
    ...{ does: 'hands on an event again that says something else', states: [paid('changed')] },
    ...{ events: [eventFor('changed', { amount: 1 })], results: [refused('event_mismatch')] },
  },
  {
    ...{ does: 'hands on a failure of an order that was paid since', states: [paid('superseded')] },
    ...{ events: [eventFor('superseded', { eventId: 'evt_late', ...FAILS })], results: [seen('superseded')] },
  },
  {
    ...{ does: 'hands on a second payment of an order', states: [paid('twice')], results: [seen('already_paid')] },
    events: [eventFor('twice', { eventId: 'evt_second', paymentId: 'pay_second' })],
  },
  {
    ...{ does: 'hands on a payment that has paid another order', states: [paid('first'), pending('second')] },
    ...{ events: [eventFor('second', { paymentId: 'pay_first' })], results: [refused('payment_used_elsewhere')] },
  },
  {
    ...{ does: 'hands on a payment of an unknown order', states: [absent('unknown')] },
    ...{ events: [eventFor('unknown')], results: [refused('order_unknown', 'later')] },
  },
  {
    ...{ does: 'hands on a payment of a deleted order', results: [refused('order_deleted')] },
    ...{ states: [state('an order was deleted', { orderId: 'ord_deleted' })], events: [eventFor('deleted')] },
  },
  {
    ...{ does: 'hands on a payment of another amount', states: [pending('amount')] },
    ...{ events: [eventFor('amount', { amount: 1998 })], results: [refused('amount_mismatch')] },
  },
  {
    ...{ does: 'hands on a payment in another currency', states: [pending('currency')] },
    ...{ events: [eventFor('currency', { currency: 'USD' })], results: [refused('currency_mismatch')] },
  },
  {
    ...{ does: 'hands on a payment with unusual names', states: [pending('unusual')], results: [applied(2)] },
    events: [eventFor('unusual', { provider: 'Zürich <1>', eventId: 'ev/t?1&"2"', paymentId: 'pay %20 \\ 😀' })],
  },
  {
    ...{ does: 'hands on a payment that names no money', states: [pending('bare')] },
    ...{ events: [withoutMoney(eventFor('bare'))], results: [applied(2)] },
  },
  {
    does: 'hands on several payments, one of which is refused',
    states: [pending('one'), absent('none'), pending('other')],
    events: [eventFor('one'), eventFor('none'), eventFor('other')],
    results: [applied(2), refused('order_unknown', 'later'), applied(2)],
  },
  {
    ...{ does: 'hands on a payment of an order whose payment failed before', states: [failed('paid_at_last')] },
    ...{ events: [eventFor('paid_at_last')], results: [applied(3)] },
  },
  {
    ...{ does: 'hands on a failure of an order whose payment failed later', states: [failed('failed_before')] },
    events: [eventFor('failed_before', { ...FAILS, occurredAt: '2020-01-01T00:00:00.000Z' })],
    results: [seen('superseded')],
  },
  {
    does: 'hands on two events of one order, and one of another between them',
    states: [pending('both'), pending('between')],
    events: [
      eventFor('both', { eventId: 'evt_both_1', ...FAILS }),
      eventFor('between'),
      eventFor('both', { eventId: 'evt_both_2' }),
    ],
    results: [applied(2), applied(2), applied(3)],
  },
  {
    ...{ does: 'hands on one event twice in one call', states: [pending('repeated')] },
    ...{ events: [eventFor('repeated'), eventFor('repeated')], results: [applied(2), seen('duplicate')] },
  },
  {
    does: 'hands on payments of two orders, one of which is damaged',
    states: [state('an order is damaged', { orderId: 'ord_damaged' }), pending('sound')],
    events: [eventFor('damaged'), eventFor('sound')],
    results: [refused('internal', 'later'), applied(2)],
  },
]

describe('the gateway as a sender of payments', () => {
  it.each(PAYMENTS)('$does', async ({ does, states, events, results }) => {
    const call = { does, states, procedure: 'payments.applyEvents', kind: 'mutation', input: { events } } as const
    await expectCall({ ...call, answer: data({ results }) }, async () => {
      expect(await applyEvents(events)).toEqual(results)
    })
  })

  it.each([
    { does: 'an event that cannot be read', known: 'nothing in particular', status: 400, code: 'invalid_request' },
    { does: 'too much in one call', known: 'the call is too large', status: 413, code: 'payload_too_large' },
  ])('hands on $does', async ({ does, known, status, code }) => {
    const events = [eventFor('unreadable', status === 400 ? { provider: ' ' } : {})]
    const call = { does: `hands on ${does}`, states: [{ description: known }], procedure: 'payments.applyEvents' }
    const answer = refusal(status, code)
    await expectCall({ ...call, kind: 'mutation', input: { events }, answer }, async () => {
      const sizes: number[] = []
      const send = (half: readonly PaymentCommand[]) => {
        sizes.push(half.length)
        return applyEvents(events)
      }
      const failure = await applyPayments(send, [...events, ...events]).catch((error) => error)
      expect(sizes, `the gateway sends the halves of what is answered with ${status}`).toEqual([2, 1, 1])
      expect(failure.cause).toMatchObject({ code, status, retry: 'never' })
    })
  })

  it.each([
    { does: 'asks with a token that has expired', known: 'the token of the caller has expired' },
    { does: 'asks without a token', known: 'the caller has no token', anonymous: true },
    { does: 'asks with a token of somebody else', known: 'the caller has another secret' },
  ])('$does', async ({ known, ...more }) => {
    const events = [eventFor('untold')]
    const call = { ...more, procedure: 'payments.applyEvents', kind: 'mutation', input: { events } } as const
    const answer = refusal(401, 'unauthenticated')
    const challenged = { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': 'Bearer' } }
    await expectCall({ ...call, states: [{ description: known }], answer: challenged }, async () => {
      // Neither an event nor a caller could do anything about this.
      await expect(applyEvents(events)).rejects.toMatchObject({ code: 'unavailable', status: 503, retry: 'later' })
    })
  })
})

/** A call of the client itself. */
interface ClientCall<Input extends object> {
  readonly does: string
  readonly states?: readonly NeededState[]
  readonly procedure: string
  readonly kind: Call['kind']
  readonly input: Input
  readonly answer: Call['answer']
  readonly act: (client: FulfilmentClient, input: Input) => Promise<unknown>
}

/** Lets the compiler check that the input of a call is what its procedure takes. */
function calls<Input extends object>({ act, ...call }: ClientCall<Input>) {
  return { ...call, act: (client: FulfilmentClient) => act(client, call.input) }
}

const BY_REQUEST = { context: { requestId: REQUEST_ID } }

const NO_KEYS = { firstKey: null, keys: [], missing: [], leaving: [] }

describe('the gateway as one that erases personal data, rotates encryption keys and releases receipts', () => {
  it.each([
    calls({
      ...{ does: 'asks which orders hold something of a customer', procedure: 'erasures.find', kind: 'mutation' },
      states: [state('there is an order of a customer', { orderId: 'ord_of_one', customerId: 'cus_one' })],
      ...{ input: { customerId: 'cus_one' }, answer: data({ orders: [{ id: 'ord_of_one', isSettled: true }] }) },
      // By POST: a URL would be in logs.
      act: ({ erasures }, input) => erasures.find.query(input, { context: { requestId: REQUEST_ID, byPost: true } }),
    }),
    calls({
      ...{ does: 'erases orders', states: [pending('erased')], procedure: 'erasures.erase', kind: 'mutation' },
      ...{ input: { orderIds: ['ord_erased'] }, answer: data({ erased: 1 }) },
      act: ({ erasures }, input) => erasures.erase.mutate(input, BY_REQUEST),
    }),
    calls({
      ...{ does: 'erases an order whose receipt is owed', procedure: 'erasures.erase', kind: 'mutation' },
      ...{ states: [state('a receipt is owed', { name: 'unsettled' })], input: { orderIds: ['ord_unsettled'] } },
      answer: refusal(409, 'erase_unsettled', { retry: 'later' }),
      act: ({ erasures }, input) => erasures.erase.mutate(input, BY_REQUEST),
    }),
    calls<Record<string, never>>({
      ...{ does: 'asks which keys of encryption there are', procedure: 'encryption.status', kind: 'query' },
      ...{
        input: {},
        answer: data(NO_KEYS),
        act: ({ encryption }, input) => encryption.status.query(input, BY_REQUEST),
      },
    }),
    ...(['orders', 'idempotency_keys'] as const).map((collection) =>
      calls({
        ...{ does: `counts what is to be encrypted anew of ${collection}`, procedure: 'encryption.rotate' },
        ...{ kind: 'mutation', input: { collection, after: null, dryRun: true } },
        answer: data({ examined: integer(0), changed: 0, unknown: 0, altered: 0, next: null }),
        act: ({ encryption }, input) => encryption.rotate.mutate(input, BY_REQUEST),
      }),
    ),
    calls({
      ...{ does: 'rotates to a key that fulfilment does not encrypt by', procedure: 'encryption.rotate' },
      ...{ kind: 'mutation', input: { collection: 'orders' as const, key: 'another', after: null, dryRun: false } },
      answer: refusal(409, 'encryption_key_differs', { retry: 'later' }),
      act: ({ encryption }, input) => encryption.rotate.mutate(input, BY_REQUEST),
    }),
    calls({
      ...{ does: 'lets keys of encryption go', procedure: 'encryption.retire', kind: 'mutation' },
      ...{ input: { key: 'first' }, answer: data({ retired: [], inUse: [] }) },
      act: ({ encryption }, input) => encryption.retire.mutate(input, BY_REQUEST),
    }),
    ...[true, false].map((dryRun) =>
      calls({
        ...{
          does: dryRun ? 'counts parked receipts' : 'releases all parked receipts',
          procedure: 'receipts.releaseAll',
        },
        states: [state('a receipt is parked', { name: `all_${dryRun}` })],
        ...{ kind: 'mutation', input: { after: null, dryRun }, answer: data({ receipts: integer(1), next: null }) },
        act: ({ receipts }, input) => receipts.releaseAll.mutate(input, BY_REQUEST),
      }),
    ),
  ])('$does', async ({ act, ...call }) => {
    await expectCall(call, async () => {
      const { result, error } = bodyOf(call.answer)
      const acted = act(fulfilment).catch(toFulfilmentError)
      if (result !== undefined) expect(await acted).toEqual(result.data)
      else expect(await acted).toMatchObject({ status: call.answer.status, code: error?.data.reason })
    })
  })
})

interface Body {
  readonly result?: { readonly data: object }
  readonly error?: { readonly data: { readonly reason: string } }
}

/** An example of the body of an answer. */
const bodyOf = ({ body }: Call['answer']): Body => reify(body as never) as unknown as Body

describe('the gateway as a reader of receipts', () => {
  const RECEIPT = { amount: 1999, currency: 'EUR', paidAt: time() }
  const KEY = regex(/^rcpt_[0-9a-f]{32}$/, `rcpt_${'0'.repeat(32)}`)
  const parked = (name: string): NeededState => state('a receipt is parked', { name })
  const parkedOf = (name: string) => ({
    ...{ key: `rcp_${name}`, orderId: `ord_${name}`, paymentId: `pay_${name}`, ...RECEIPT },
    ...{ state: 'parked', attempts: 2, sentAt: null, lastError: { code: 'receipt_refused', at: time() } },
  })
  const otherOf = (name: string, members: object) => ({
    ...{ key: KEY, orderId: `ord_${name}`, paymentId: `pay_${name}`, ...RECEIPT, sentAt: null, lastError: null },
    ...members,
  })
  const pageOf = (receipt: object, next: string | null = null) => data({ items: [receipt], next })
  // As fulfilment writes the end of a page: the time of the order, its id, and the key of the receipt.
  const cursor = (...parts: (string | number)[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
  const LATER = Date.UTC(2100, 0, 1)
  const lists = { procedure: 'receipts.list', kind: 'query' } as const
  const releases = { procedure: 'receipts.release', kind: 'mutation' } as const
  const reason = 'the customer asked'

  it.each<Call>([
    {
      ...{ does: 'lists receipts', states: [parked('parked')], ...lists, answer: pageOf(parkedOf('parked')) },
      input: { orderId: 'ord_parked', state: 'parked', limit: 1 },
    },
    {
      ...{ does: 'lists a receipt that was sent', states: [state('a receipt was sent', { name: 'sent' })], ...lists },
      input: { orderId: 'ord_sent', state: 'sent', limit: 20 },
      answer: pageOf(otherOf('sent', { state: 'sent', attempts: 1, sentAt: time() })),
    },
    {
      ...{ does: 'lists a receipt that is owed', states: [state('a receipt is owed', { name: 'owed' })], ...lists },
      input: { orderId: 'ord_owed', state: 'owed', limit: 20 },
      answer: pageOf(otherOf('owed', { state: 'owed', attempts: 0 })),
    },
    {
      ...{ does: 'lists the first page of receipts', states: [parked('page_1'), parked('page_2')], ...lists },
      input: { state: 'parked', limit: 1 },
      answer: data({ items: [parkedOf('page_2')], next: string(cursor(LATER, 'ord_page_2', 'rcp_page_2')) }),
    },
    {
      ...{ does: 'lists the second page of receipts', states: [parked('rest_1'), parked('rest_2')], ...lists },
      input: { state: 'parked', limit: 1, after: cursor(LATER, 'ord_rest_2', 'rcp_rest_2') },
      // Other interactions leave older ones.
      answer: data({ items: [parkedOf('rest_1')] }),
    },
    {
      ...{ does: 'lists receipts after something that is no cursor', ...lists, input: { limit: 20, after: 'x' } },
      answer: refusal(400, 'invalid_request'),
    },
    {
      ...{ does: 'releases a receipt', states: [parked('released')], ...releases, input: { key: 'rcp_released' } },
      answer: data({ key: 'rcp_released', orderId: 'ord_released' }),
    },
    {
      ...{ does: 'releases a receipt that is not parked', ...releases, input: { key: 'rcp_of_nobody' } },
      answer: refusal(404, 'receipt_not_parked'),
    },
    {
      ...{ does: 'releases a receipt that was sent', ...releases, input: { key: 'rcpt_of_a_sent_one' } },
      states: [state('a receipt was sent', { name: 'sent_before', key: 'rcpt_of_a_sent_one' })],
      answer: refusal(404, 'receipt_not_parked'),
    },
  ])('$does', async (call) => {
    const [method, said] = call.kind === 'query' ? (['GET', {}] as const) : (['POST', { reason }] as const)
    await expectCall(call, async () => {
      const { status, json } = await callOperator(method, call.procedure, { ...call.input, ...said })
      const { result, error } = bodyOf(call.answer)
      expect(status).toBe(call.answer.status)
      if (result !== undefined) expect(json).toEqual({ result })
      else expect(json).toMatchObject({ error: { data: { reason: error?.data.reason } } })
    })
  })
})
