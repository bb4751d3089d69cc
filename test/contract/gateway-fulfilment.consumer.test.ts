import type { ApplyResult, PaymentProcedures } from '@oncehook/gateway/dispatch/apply-payments'
import type { PaymentCommand } from '@oncehook/gateway/dispatch/payment-command'
import {
  createFulfilmentClient,
  createPaymentProcedures,
  toFulfilmentError,
} from '@oncehook/gateway/fulfilment/fulfilment-client'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { type Clock, systemClock } from '@oncehook/kernel/clock'
import { Secret } from '@oncehook/kernel/secret'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { testServiceTokens } from '@oncehook/kernel/testing/test-service-tokens'
import { MatchersV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { type Exchange, type NeededState, openConsumerContract } from './consumer-contract.ts'

const { boolean, integer, regex, string } = MatchersV3
const API_TOKEN = 'the-token-of-a-shop-in-a-test-of-contracts'
const OPERATOR_TOKEN = 'the-token-of-an-operator-in-a-test-of-contracts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const contract = stack.use(await openConsumerContract('gateway', 'fulfilment'))
const database = stack.use(await testDatabase(process.env))

/** Where the gateway finds fulfilment: the URL of the current exchange. */
let fulfilmentUrl = ''
const gateway = stack.use(
  await startGateway({
    database,
    settings: {
      API_TOKENS: JSON.stringify({ shop: API_TOKEN }),
      OPERATOR_TOKENS: JSON.stringify({ operator: OPERATOR_TOKEN }),
    },
    fetch: (input, init) => fetch(String(input).replace('http://127.0.0.1:1', fulfilmentUrl), init),
  }),
)

/** What one exchange is about: what the gateway asks for, and in which words. */
interface Call {
  readonly does: string
  readonly states?: readonly NeededState[]
  readonly procedure: string
  readonly kind: 'query' | 'mutation'
  readonly input: object
  readonly answer: Exchange['answer']
  /** Without a token, as far as the contract goes. */
  readonly anonymous?: boolean
}

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' }
const BEARER = regex(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/, 'Bearer a.b.c')

function expectCall(call: Call, ask: (url: string) => Promise<void>): Promise<void> {
  const { does, states = [{ description: 'nothing in particular' }], kind, input, answer } = call
  const isQuery = kind === 'query'
  const path = `/trpc/${call.procedure}`
  const headers = {
    ...(call.anonymous === true ? {} : { authorization: BEARER }),
    ...(isQuery ? {} : { 'content-type': 'application/json' }),
  }
  const body = input as NonNullable<Exchange['request']['body']>
  const request = isQuery
    ? { method: 'GET', path, query: { input: exactly(JSON.stringify(input)) }, headers }
    : { method: 'POST', path, headers, body }
  return contract.expectExchange({ does, states, request, answer }, async (url) => {
    fulfilmentUrl = url
    await ask(url)
  })
}

/** Pact takes a text of JSON for JSON, and writes it in its own order: as a pattern it stays as it is. */
function exactly(text: string) {
  return regex(`^${text.replaceAll(/[[\]{}()*+?.\\^$|]/g, '\\$&')}$`, text)
}

function data(value: object): Exchange['answer'] {
  return { status: 200, headers: JSON_TYPE, body: { result: { data: value } } } as Exchange['answer']
}

/** A refusal as the gateway reads it: the status, the code, the retry class, and the version behind a 412. */
function refusal(status: number, reason: string, more: object = {}): Exchange['answer'] {
  const known = { httpStatus: status, reason, retry: 'never', ...more }
  const body = { error: { message: string('A sentence of fulfilment'), code: integer(-32_000), data: known } }
  return { status, headers: JSON_TYPE, body } as Exchange['answer']
}

function state(description: string, parameters: NonNullable<NeededState['parameters']>): NeededState {
  return { description, parameters }
}

/** What a caller of the gateway was answered. */
interface Told {
  readonly status: number
  readonly headers: Headers
  readonly json: Record<string, unknown>
}

async function callApi(method: string, path: string, more: { headers?: object; body?: object } = {}): Promise<Told> {
  const response = await fetch(`${gateway.url}/api/orders${path}`, {
    method,
    headers: { authorization: `Bearer ${API_TOKEN}`, 'content-type': 'application/json', ...more.headers },
    ...(more.body === undefined ? {} : { body: JSON.stringify(more.body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, json: text === '' ? {} : JSON.parse(text) }
}

async function callOperator(method: string, procedure: string, input: object): Promise<Told> {
  const query = method === 'GET' ? `?input=${encodeURIComponent(JSON.stringify(input))}` : ''
  const response = await fetch(`${gateway.adminUrl}/operator/${procedure}${query}`, {
    method,
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, 'content-type': 'application/json' },
    ...(method === 'GET' ? {} : { body: JSON.stringify(input) }),
  })
  return { status: response.status, headers: response.headers, json: (await response.json()) as Told['json'] }
}

const TIME = '2026-11-21T08:00:00.000Z'
const time = () => regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/, TIME)
const CONTENT = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'sku_1', quantity: 1, unitAmount: 1999 }] }
const ID = 'ord_abcdefghijklmnopqrstuvwxyz'

/** An order as the gateway shows it on. */
function orderOf(id: unknown, version = 1, members: object = {}) {
  return {
    ...{ id, version, status: 'pending', ...CONTENT, amountDue: 1999, access: 'locked', payment: null },
    ...{ createdAt: time(), updatedAt: time() },
    ...members,
  }
}

const PAID = {
  ...{ status: 'paid', access: 'unlocked' },
  payment: { id: string('pay_1'), provider: 'acme', status: 'succeeded', at: time() },
}

function clientOf(url: string, clock: Clock = systemClock) {
  const tokens = testServiceTokens(new Secret('a-secret-that-signs-nothing-that-counts'), { clock })
  return createFulfilmentClient({ url: new URL(url), tokens, fetch: globalThis.fetch, timeoutMs: 5_000 })
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

const pending = (name: string, version = 1) => state('there is an order', { orderId: `ord_${name}`, version })
const paid = (name: string) => state('an order was paid', { name })
const absent = (name: string) => state('there is no order', { orderId: `ord_${name}` })

describe('the gateway as a sender of payments', () => {
  it('asks for the versions of orders', async () => {
    const orderIds = ['ord_present', 'ord_absent']
    const call = { does: 'asks for the versions of orders', procedure: 'payments.versions', kind: 'query' } as const
    const states = [pending('present'), absent('absent')]
    const answer = data({ ord_present: integer(1), ord_absent: null })
    await expectCall({ ...call, states, input: { orderIds }, answer }, async (url) => {
      const versions = await procedures(url).versions(orderIds)
      expect(Object.fromEntries(versions)).toEqual({ ord_present: 1, ord_absent: null })
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

  it('hands on an event that cannot be read', async () => {
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
    const challenged = { ...answer, headers: { ...JSON_TYPE, 'WWW-Authenticate': 'Bearer' } }
    await expectCall({ ...call, states: [{ description: known }], answer: challenged }, async (url) => {
      // Which is nothing that an event or a caller could do anything about.
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
    const answer = data({ orders: [{ id: 'ord_of_one', isSettled: true }], isComplete: boolean(true) })
    const input = { customerId: 'cus_one' }
    await expectCall({ does, states, procedure: 'erasures.find', kind, input, answer }, async (url) => {
      const found = await clientOf(url).erasures.find.query(input, { context: { byPost: true } })
      expect(found).toEqual({ orders: [{ id: 'ord_of_one', isSettled: true }], isComplete: true })
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

describe('the gateway as a client of orders', () => {
  const FINGERPRINT = '1kQrVWMl7nCF9gxomY2Cxc6qxsKEJtVBswohiHhVmcE='
  const idempotency = (key: string) => ({ idempotency: { principal: 'shop', key, fingerprint: FINGERPRINT } })
  const create = (call: Pick<Call, 'does' | 'input' | 'answer'> & Partial<Call>): Call => ({
    ...{ procedure: 'orders.create', kind: 'mutation' },
    ...call,
  })
  const made = (replayed: boolean) => data({ order: orderOf(regex(/^ord_[a-z2-7]{26}$/, ID)), replayed })

  it('makes an order', async () => {
    const input = { order: CONTENT }
    await expectCall(create({ does: 'makes an order', input, answer: made(false) }), async () => {
      const { status, headers, json } = await callApi('POST', '', { body: CONTENT })
      expect(status).toBe(201)
      expect(json).toEqual({ ...orderOf(ID), createdAt: TIME, updatedAt: TIME })
      expect([headers.get('location'), headers.get('etag')]).toEqual([`/api/orders/${ID}`, '"1"'])
    })
  })

  it.each([
    { does: 'makes an order under a key', key: 'key-new', replayed: false, states: [] },
    {
      does: 'makes an order under a key again',
      ...{ key: 'key-again', replayed: true },
      states: [state('an order was made under a key', { ...idempotency('key-again'), order: CONTENT })],
    },
  ])('$does', async ({ does, key, replayed, states }) => {
    const input = { order: CONTENT, ...idempotency(key) }
    const known = states.length === 0 ? {} : { states }
    await expectCall(create({ does, ...known, input, answer: made(replayed) }), async () => {
      const { status, headers } = await callApi('POST', '', { body: CONTENT, headers: { 'idempotency-key': key } })
      expect([status, headers.get('idempotent-replayed')]).toEqual([201, replayed ? 'true' : null])
    })
  })

  it.each([
    {
      does: 'makes another order under a key',
      ...{ known: 'another order was made under a key', key: 'key-reused' },
      refused: refusal(422, 'idempotency_key_reused'),
      retryAfter: null,
    },
    {
      does: 'makes an order under a key whose first request is running',
      ...{ known: 'a request under a key is running', key: 'key-running' },
      refused: refusal(409, 'idempotency_in_progress', { retry: 'later' }),
      retryAfter: '1',
    },
  ])('$does', async ({ does, known, key, refused, retryAfter }) => {
    const states = [state(known, { ...idempotency(key) })]
    const input = { order: CONTENT, ...idempotency(key) }
    await expectCall(create({ does, states, input, answer: refused }), async () => {
      const told = await callApi('POST', '', { body: CONTENT, headers: { 'idempotency-key': key } })
      expect([told.status, told.headers.get('retry-after')]).toEqual([refused.status, retryAfter])
      expect(told.headers.get('link')).toContain('describedby')
    })
  })

  it('makes an order that is none', async () => {
    const answer = refusal(400, 'invalid_request')
    const call = create({ does: 'makes an order that is none', input: { order: { customerId: 1 } }, answer })
    await expectCall(call, async () => {
      const { status, json } = await callApi('POST', '', { body: { customerId: 1 } })
      expect([status, json.code, json.error]).toEqual([400, 'invalid_request', 'A sentence of fulfilment'])
    })
  })

  interface Asked {
    readonly does: string
    readonly states: readonly NeededState[]
    readonly procedure: string
    readonly kind?: Call['kind']
    readonly input: object
    readonly answer: Exchange['answer']
    readonly request: readonly [method: string, path: string, more?: { headers?: object; body?: object }]
    readonly told: readonly [status: number, ...unknown[]]
    /** The ETag that the caller finds. */
    readonly etag?: string
  }

  const stale = refusal(412, 'precondition_failed', { retry: 'now', version: 2 })
  const note = { ...CONTENT, note: 'changed' }

  it.each<Asked>([
    {
      does: 'reads an order',
      states: [pending('read')],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_read' } },
      answer: data(orderOf('ord_read')),
      ...{ request: ['GET', '/ord_read'], told: [200], etag: '"1"' },
    },
    {
      does: 'reads an order with all that it can hold',
      states: [state('an order with every member was paid', { name: 'full' })],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_full' } },
      answer: data(
        orderOf('ord_full', 2, { ...PAID, email: 'a@example.com', note: 'a note', metadata: { colour: 'blue' } }),
      ),
      ...{ request: ['GET', '/ord_full'], told: [200], etag: '"2"' },
    },
    {
      does: 'reads an order that is not there',
      states: [absent('missing')],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_missing' } },
      answer: refusal(404, 'order_not_found'),
      ...{ request: ['GET', '/ord_missing'], told: [404, 'order_not_found'] },
    },
    {
      does: 'reads an order whose key of encryption is gone',
      states: [state('an order is encrypted by a key that is gone', { orderId: 'ord_encrypted' })],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_encrypted' } },
      answer: refusal(503, 'key_unknown', { retry: 'later' }),
      ...{ request: ['GET', '/ord_encrypted'], told: [503, 'key_unknown'] },
    },
    {
      does: 'reads an order that is damaged',
      states: [state('an order cannot be shown', { orderId: 'ord_torn' })],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_torn' } },
      answer: refusal(409, 'order_unreadable'),
      ...{ request: ['GET', '/ord_torn'], told: [409, 'order_unreadable'] },
    },
    {
      does: 'reads a page of orders',
      states: [pending('older'), pending('newest')],
      ...{ procedure: 'orders.list', kind: 'query', input: { limit: 1 } },
      answer: data({ items: [orderOf('ord_newest')], next: regex(/^\d{13}\.ord_newest$/, '1760000000000.ord_newest') }),
      ...{ request: ['GET', '?limit=1'], told: [200] },
    },
    {
      does: 'reads the page after one, of those that are paid',
      states: [paid('listed')],
      ...{ procedure: 'orders.list', kind: 'query', input: { limit: 100, after: '0.ord_0', status: 'paid' } },
      answer: data({ items: [], next: null }),
      ...{ request: ['GET', '?limit=100&after=0.ord_0&status=paid'], told: [200] },
    },
    {
      does: 'reads a page after something that is no cursor',
      states: [absent('cursor')],
      ...{ procedure: 'orders.list', kind: 'query', input: { limit: 20, after: 'x' } },
      answer: refusal(400, 'invalid_request'),
      ...{ request: ['GET', '?after=x'], told: [400, 'invalid_request'] },
    },
    {
      does: 'puts an order that was not there',
      states: [absent('put')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put', order: CONTENT, ifNoneMatch: '*' } },
      answer: data({ order: orderOf('ord_put'), created: true }),
      ...{
        request: ['PUT', '/ord_put', { body: CONTENT, headers: { 'if-none-match': '*' } }],
        told: [201],
        etag: '"1"',
      },
    },
    {
      does: 'puts an order in place of the version it has read',
      states: [pending('replaced')],
      ...{ procedure: 'orders.put', input: { id: 'ord_replaced', order: note, ifMatch: '"1"' } },
      answer: data({ order: orderOf('ord_replaced', 2, { note: 'changed' }), created: false }),
      ...{
        request: ['PUT', '/ord_replaced', { body: note, headers: { 'if-match': '"1"' } }],
        told: [200],
        etag: '"2"',
      },
    },
    {
      does: 'puts an order in place of a version that is no more',
      states: [pending('put_stale', 2)],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_stale', order: CONTENT, ifMatch: '"1"' } },
      answer: stale,
      request: ['PUT', '/ord_put_stale', { body: CONTENT, headers: { 'if-match': '"1"' } }],
      ...{ told: [412, 'precondition_failed'], etag: '"2"' },
    },
    {
      does: 'puts an order where there is none to match',
      states: [absent('put_absent')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_absent', order: CONTENT, ifMatch: '*' } },
      answer: refusal(412, 'precondition_failed', { retry: 'now', version: null }),
      request: ['PUT', '/ord_put_absent', { body: CONTENT, headers: { 'if-match': '*' } }],
      told: [412, 'precondition_failed'],
    },
    {
      does: 'puts an order under an id that it does not name itself',
      states: [absent('put_named')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_named', order: { ...CONTENT, id: 'ord_other' } } },
      answer: refusal(409, 'id_mismatch'),
      request: ['PUT', '/ord_put_named', { body: { ...CONTENT, id: 'ord_other' } }],
      told: [409, 'id_mismatch'],
    },
    {
      does: 'puts other items into an order that is paid',
      states: [paid('put_paid')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_paid', order: { ...CONTENT, currency: 'USD' } } },
      answer: refusal(409, 'order_paid'),
      request: ['PUT', '/ord_put_paid', { body: { ...CONTENT, currency: 'USD' } }],
      told: [409, 'order_paid'],
    },
    {
      does: 'patches an order',
      states: [pending('patched')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patched', patch: { note: 'changed' }, ifMatch: '"1"' } },
      answer: data(orderOf('ord_patched', 2, { note: 'changed' })),
      request: ['PATCH', '/ord_patched', { body: { note: 'changed' }, headers: { 'if-match': '"1"' } }],
      ...{ told: [200], etag: '"2"' },
    },
    {
      does: 'patches an order without a version',
      states: [pending('unconditional')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_unconditional', patch: { note: 'changed' } } },
      answer: refusal(428, 'precondition_required'),
      request: ['PATCH', '/ord_unconditional', { body: { note: 'changed' } }],
      told: [428, 'precondition_required'],
    },
    {
      does: 'patches a version of an order that is no more',
      states: [pending('patch_stale', 2)],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_stale', patch: { note: 'changed' }, ifMatch: '"1"' } },
      answer: stale,
      request: ['PATCH', '/ord_patch_stale', { body: { note: 'changed' }, headers: { 'if-match': '"1"' } }],
      ...{ told: [412, 'precondition_failed'], etag: '"2"' },
    },
    {
      does: 'patches an order that is not there',
      states: [absent('patch_absent')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_absent', patch: {}, ifMatch: '*' } },
      answer: refusal(404, 'order_not_found'),
      request: ['PATCH', '/ord_patch_absent', { body: {}, headers: { 'if-match': '*' } }],
      told: [404, 'order_not_found'],
    },
    {
      does: 'patches an order into something that is none',
      states: [pending('patch_broken')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_broken', patch: { items: null }, ifMatch: '"1"' } },
      answer: refusal(422, 'patch_unprocessable'),
      request: ['PATCH', '/ord_patch_broken', { body: { items: null }, headers: { 'if-match': '"1"' } }],
      told: [422, 'patch_unprocessable'],
    },
    {
      does: 'patches the currency of an order that is paid',
      states: [paid('patch_paid')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_paid', patch: { currency: 'USD' }, ifMatch: '"2"' } },
      answer: refusal(409, 'order_paid'),
      request: ['PATCH', '/ord_patch_paid', { body: { currency: 'USD' }, headers: { 'if-match': '"2"' } }],
      told: [409, 'order_paid'],
    },
    {
      does: 'deletes an order',
      states: [pending('gone')],
      ...{ procedure: 'orders.delete', input: { id: 'ord_gone', ifMatch: '"1"' } },
      answer: data({ deleted: true }),
      ...{ request: ['DELETE', '/ord_gone', { headers: { 'if-match': '"1"' } }], told: [204] },
    },
    {
      does: 'deletes an order that is not there',
      states: [absent('never')],
      ...{ procedure: 'orders.delete', input: { id: 'ord_never' } },
      answer: data({ deleted: false }),
      ...{ request: ['DELETE', '/ord_never'], told: [204] },
    },
    {
      does: 'deletes a version of an order that is no more',
      states: [pending('delete_stale', 2)],
      ...{ procedure: 'orders.delete', input: { id: 'ord_delete_stale', ifMatch: '"1"' } },
      answer: stale,
      request: ['DELETE', '/ord_delete_stale', { headers: { 'if-match': '"1"' } }],
      ...{ told: [412, 'precondition_failed'], etag: '"2"' },
    },
  ])('$does', async ({ does, states, procedure, kind = 'mutation', input, answer, request, told, etag }) => {
    await expectCall({ does, states, procedure, kind, input, answer }, async () => {
      const { status, headers, json } = await callApi(...request)
      expect([status, ...(status < 400 ? [] : [json.code])]).toEqual(told)
      expect(headers.get('etag')).toBe(etag ?? null)
    })
  })
})

describe('the gateway as a reader of receipts', () => {
  const RECEIPT = {
    ...{ key: 'rcp_parked', orderId: 'ord_parked', paymentId: 'pay_parked', amount: 1999, currency: 'EUR' },
    ...{ paidAt: time(), state: 'parked', attempts: 2, sentAt: null },
    lastError: { code: 'receipt_refused', at: time() },
  }

  it('lists receipts', async () => {
    const input = { orderId: 'ord_parked', state: 'parked', limit: 1 }
    const states = [state('a receipt is parked', { name: 'parked' })]
    const call = { does: 'lists receipts', procedure: 'receipts.list', kind: 'query', input, states } as const
    await expectCall({ ...call, answer: data({ items: [RECEIPT], next: null }) }, async () => {
      const { status, json } = await callOperator('GET', 'receipts.list', input)
      expect(status).toBe(200)
      expect(json).toMatchObject({ result: { data: { items: [{ key: 'rcp_parked', state: 'parked' }], next: null } } })
    })
  })

  it('releases a receipt', async () => {
    const states = [state('a receipt is parked', { name: 'released' })]
    const input = { key: 'rcp_released' }
    const call = { does: 'releases a receipt', procedure: 'receipts.release', kind: 'mutation', input, states } as const
    await expectCall({ ...call, answer: data({ key: 'rcp_released', orderId: 'ord_released' }) }, async () => {
      const { status } = await callOperator('POST', 'receipts.release', { ...input, reason: 'the customer asked' })
      expect(status).toBe(200)
    })
  })

  it('releases a receipt that is not parked', async () => {
    const input = { key: 'rcp_of_nobody' }
    const call = { does: 'releases a receipt that is not parked', procedure: 'receipts.release', input }
    const answer = refusal(404, 'receipt_not_parked')
    await expectCall({ ...call, kind: 'mutation', answer }, async () => {
      const { status, json } = await callOperator('POST', 'receipts.release', {
        ...input,
        reason: 'the customer asked',
      })
      expect(status).toBe(404)
      expect(json).toMatchObject({ error: { data: { reason: 'receipt_not_parked' } } })
    })
  })
})

it('asks for what the committed contract says', () => contract.compareWithCommitted(process.env))
