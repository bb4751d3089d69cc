import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd, type Exchange, type NeededState } from './consumer-contract.ts'
import {
  absent,
  type Call,
  data,
  failed,
  OWN_TOKEN,
  openGatewayContract,
  paid,
  pending,
  refusal,
  state,
  TIME,
  time,
} from './gateway-contract.ts'

const { regex, reify, string } = MatchersV3

const gateway = await openGatewayContract(process.env, (router) => router === 'orders')
compareAtTheEnd(gateway)
const { expectCall, callApi } = gateway

const CONTENT = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'sku_1', quantity: 1, unitAmount: 1999 }] }
const ID = 'ord_abcdefghijklmnopqrstuvwxyz'

/** An order as the gateway shows it to its caller. */
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

const FAILED = {
  status: 'payment_failed',
  payment: { id: string('pay_1'), provider: 'acme', status: 'failed', at: time() },
}
const EVERY_MEMBER = { email: 'a@example.com', note: 'a note', metadata: { colour: 'blue' } }
const AS_SELLER = { authorization: `Bearer ${OWN_TOKEN}` }

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
      const received = await callApi('POST', '', { body: CONTENT, headers: { 'idempotency-key': key } })
      expect([received.status, received.headers.get('retry-after')]).toEqual([refused.status, retryAfter])
      expect(received.headers.get('link')).toContain('describedby')
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

  interface OrderCall {
    readonly does: string
    readonly states: readonly NeededState[]
    readonly procedure: string
    readonly kind?: Call['kind']
    readonly input: object
    readonly answer: Exchange['answer']
    readonly request: readonly [method: string, path: string, more?: { headers?: object; body?: object }]
    readonly expected: readonly [status: number, ...unknown[]]
    /** The ETag that the caller receives. */
    readonly etag?: string
    /** The seconds after which the caller may try again. */
    readonly retryAfter?: string
  }

  const stale = refusal(412, 'precondition_failed', { retry: 'now', version: 2 })
  const note = { ...CONTENT, note: 'changed' }

  it.each<OrderCall>([
    {
      does: 'reads an order',
      states: [pending('read')],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_read' } },
      answer: data(orderOf('ord_read')),
      ...{ request: ['GET', '/ord_read'], expected: [200], etag: '"1"' },
    },
    {
      does: 'reads an order with all that it can hold',
      states: [state('an order with every member was paid', { name: 'full' })],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_full' } },
      answer: data(orderOf('ord_full', 2, { ...PAID, ...EVERY_MEMBER })),
      ...{ request: ['GET', '/ord_full'], expected: [200], etag: '"2"' },
    },
    {
      does: 'reads an order that is not there',
      states: [absent('missing')],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_missing' } },
      answer: refusal(404, 'order_not_found'),
      ...{ request: ['GET', '/ord_missing'], expected: [404, 'order_not_found'] },
    },
    {
      does: 'reads an order whose key of encryption is gone',
      states: [state('an order is encrypted by a key that is gone', { orderId: 'ord_encrypted' })],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_encrypted' } },
      answer: refusal(503, 'key_unknown', { retry: 'later' }),
      ...{ request: ['GET', '/ord_encrypted'], expected: [503, 'key_unknown'], retryAfter: '1' },
    },
    {
      does: 'reads an order that is damaged',
      states: [state('an order cannot be shown', { orderId: 'ord_torn' })],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_torn' } },
      answer: refusal(409, 'order_unreadable'),
      ...{ request: ['GET', '/ord_torn'], expected: [409, 'order_unreadable'] },
    },
    {
      does: 'reads an order whose payment failed',
      states: [failed('declined')],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_declined' } },
      answer: data(orderOf('ord_declined', 2, FAILED)),
      ...{ request: ['GET', '/ord_declined'], expected: [200], etag: '"2"' },
    },
    {
      does: 'reads an order that was deleted',
      states: [state('an order was deleted', { orderId: 'ord_read_deleted' })],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_read_deleted' } },
      answer: refusal(404, 'order_not_found'),
      ...{ request: ['GET', '/ord_read_deleted'], expected: [404, 'order_not_found'] },
    },
    {
      does: 'reads an order of somebody else with a token for its own orders',
      states: [pending('foreign')],
      ...{ procedure: 'orders.get', kind: 'query', input: { id: 'ord_foreign', owner: 'seller' } },
      answer: refusal(404, 'order_not_found'),
      ...{ request: ['GET', '/ord_foreign', { headers: AS_SELLER }], expected: [404, 'order_not_found'] },
    },
    {
      does: 'reads the page after one, of those whose payment failed',
      states: [failed('row_1'), failed('row_2')],
      ...{ procedure: 'orders.list', kind: 'query' },
      input: { limit: 1, after: '9999999999999.ord_z', status: 'payment_failed' },
      answer: data({
        items: [orderOf('ord_row_2', 2, FAILED)],
        next: regex(/^\d{13}\.ord_row_2$/, '1760000000000.ord_row_2'),
      }),
      ...{ request: ['GET', '?limit=1&after=9999999999999.ord_z&status=payment_failed'], expected: [200] },
    },
    {
      does: 'reads a page of orders with all that they can hold',
      states: [paid('older_row'), state('an order with every member was paid', { name: 'full_row' })],
      ...{ procedure: 'orders.list', kind: 'query', input: { limit: 1, status: 'paid' } },
      answer: data({
        items: [orderOf('ord_full_row', 2, { ...PAID, ...EVERY_MEMBER })],
        next: regex(/^\d{13}\.ord_full_row$/, '1760000000000.ord_full_row'),
      }),
      ...{ request: ['GET', '?limit=1&status=paid'], expected: [200] },
    },
    {
      does: 'reads a page of orders',
      states: [pending('older'), pending('newest')],
      ...{ procedure: 'orders.list', kind: 'query', input: { limit: 1 } },
      answer: data({ items: [orderOf('ord_newest')], next: regex(/^\d{13}\.ord_newest$/, '1760000000000.ord_newest') }),
      ...{ request: ['GET', '?limit=1'], expected: [200] },
    },
    {
      does: 'reads the page after one, of those that are paid',
      states: [paid('listed')],
      ...{ procedure: 'orders.list', kind: 'query', input: { limit: 100, after: '0.ord_0', status: 'paid' } },
      answer: data({ items: [], next: null }),
      ...{ request: ['GET', '?limit=100&after=0.ord_0&status=paid'], expected: [200] },
    },
    {
      does: 'reads a page after something that is no cursor',
      states: [absent('cursor')],
      ...{ procedure: 'orders.list', kind: 'query', input: { limit: 20, after: 'x' } },
      answer: refusal(400, 'invalid_request'),
      ...{ request: ['GET', '?after=x'], expected: [400, 'invalid_request'] },
    },
    {
      does: 'puts an order that was not there',
      states: [absent('put')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put', order: CONTENT, ifNoneMatch: '*' } },
      answer: data({ order: orderOf('ord_put'), created: true }),
      ...{
        request: ['PUT', '/ord_put', { body: CONTENT, headers: { 'if-none-match': '*' } }],
        expected: [201],
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
        expected: [200],
        etag: '"2"',
      },
    },
    {
      does: 'puts an order in place of a version that is no more',
      states: [pending('put_stale', 2)],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_stale', order: CONTENT, ifMatch: '"1"' } },
      answer: stale,
      request: ['PUT', '/ord_put_stale', { body: CONTENT, headers: { 'if-match': '"1"' } }],
      ...{ expected: [412, 'precondition_failed'], etag: '"2"' },
    },
    {
      does: 'puts an order where there is none to match',
      states: [absent('put_absent')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_absent', order: CONTENT, ifMatch: '*' } },
      answer: refusal(412, 'precondition_failed', { retry: 'now', version: null }),
      request: ['PUT', '/ord_put_absent', { body: CONTENT, headers: { 'if-match': '*' } }],
      expected: [412, 'precondition_failed'],
    },
    {
      does: 'puts an order in place of one of several versions',
      states: [pending('put_listed', 2)],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_listed', order: note, ifMatch: 'W/"2", "2"' } },
      answer: data({ order: orderOf('ord_put_listed', 3, { note: 'changed' }), created: false }),
      request: ['PUT', '/ord_put_listed', { body: note, headers: { 'if-match': 'W/"2", "2"' } }],
      ...{ expected: [200], etag: '"3"' },
    },
    {
      does: 'puts an order in place of a weak version',
      states: [pending('put_weak')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_weak', order: note, ifMatch: 'W/"1"' } },
      answer: refusal(412, 'precondition_failed', { retry: 'now', version: 1 }),
      request: ['PUT', '/ord_put_weak', { body: note, headers: { 'if-match': 'W/"1"' } }],
      ...{ expected: [412, 'precondition_failed'], etag: '"1"' },
    },
    {
      does: 'puts an order unless it is of a version',
      states: [pending('put_unless')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_unless', order: note, ifNoneMatch: 'W/"1"' } },
      answer: refusal(412, 'precondition_failed', { retry: 'now', version: 1 }),
      request: ['PUT', '/ord_put_unless', { body: note, headers: { 'if-none-match': 'W/"1"' } }],
      ...{ expected: [412, 'precondition_failed'], etag: '"1"' },
    },
    {
      does: 'puts an order on a condition that is none',
      states: [pending('put_unquoted')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_unquoted', order: note, ifMatch: '1' } },
      answer: refusal(400, 'invalid_request'),
      request: ['PUT', '/ord_put_unquoted', { body: note, headers: { 'if-match': '1' } }],
      expected: [400, 'invalid_request'],
    },
    {
      does: 'puts an order with a token for its own orders',
      states: [absent('put_owned')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_owned', order: CONTENT, owner: 'seller' } },
      answer: data({ order: orderOf('ord_put_owned'), created: true }),
      request: ['PUT', '/ord_put_owned', { body: CONTENT, headers: AS_SELLER }],
      ...{ expected: [201], etag: '"1"' },
    },
    {
      does: 'puts an order under an id that it does not name itself',
      states: [absent('put_named')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_named', order: { ...CONTENT, id: 'ord_other' } } },
      answer: refusal(409, 'id_mismatch'),
      request: ['PUT', '/ord_put_named', { body: { ...CONTENT, id: 'ord_other' } }],
      expected: [409, 'id_mismatch'],
    },
    {
      does: 'puts other items into an order that is paid',
      states: [paid('put_paid')],
      ...{ procedure: 'orders.put', input: { id: 'ord_put_paid', order: { ...CONTENT, currency: 'USD' } } },
      answer: refusal(409, 'order_paid'),
      request: ['PUT', '/ord_put_paid', { body: { ...CONTENT, currency: 'USD' } }],
      expected: [409, 'order_paid'],
    },
    {
      does: 'patches an order',
      states: [pending('patched')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patched', patch: { note: 'changed' }, ifMatch: '"1"' } },
      answer: data(orderOf('ord_patched', 2, { note: 'changed' })),
      request: ['PATCH', '/ord_patched', { body: { note: 'changed' }, headers: { 'if-match': '"1"' } }],
      ...{ expected: [200], etag: '"2"' },
    },
    {
      does: 'patches an order without a version',
      states: [pending('unconditional')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_unconditional', patch: { note: 'changed' } } },
      answer: refusal(428, 'precondition_required'),
      request: ['PATCH', '/ord_unconditional', { body: { note: 'changed' } }],
      expected: [428, 'precondition_required'],
    },
    {
      does: 'patches a version of an order that is no more',
      states: [pending('patch_stale', 2)],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_stale', patch: { note: 'changed' }, ifMatch: '"1"' } },
      answer: stale,
      request: ['PATCH', '/ord_patch_stale', { body: { note: 'changed' }, headers: { 'if-match': '"1"' } }],
      ...{ expected: [412, 'precondition_failed'], etag: '"2"' },
    },
    {
      does: 'patches an order that is not there',
      states: [absent('patch_absent')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_absent', patch: {}, ifMatch: '*' } },
      answer: refusal(404, 'order_not_found'),
      request: ['PATCH', '/ord_patch_absent', { body: {}, headers: { 'if-match': '*' } }],
      expected: [404, 'order_not_found'],
    },
    {
      does: 'patches an order into something that is none',
      states: [pending('patch_broken')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_broken', patch: { items: null }, ifMatch: '"1"' } },
      answer: refusal(422, 'patch_unprocessable'),
      request: ['PATCH', '/ord_patch_broken', { body: { items: null }, headers: { 'if-match': '"1"' } }],
      expected: [422, 'patch_unprocessable'],
    },
    {
      does: 'patches the currency of an order that is paid',
      states: [paid('patch_paid')],
      ...{ procedure: 'orders.patch', input: { id: 'ord_patch_paid', patch: { currency: 'USD' }, ifMatch: '"2"' } },
      answer: refusal(409, 'order_paid'),
      request: ['PATCH', '/ord_patch_paid', { body: { currency: 'USD' }, headers: { 'if-match': '"2"' } }],
      expected: [409, 'order_paid'],
    },
    {
      does: 'deletes an order',
      states: [pending('gone')],
      ...{ procedure: 'orders.delete', input: { id: 'ord_gone', ifMatch: '"1"' } },
      answer: data({ deleted: true }),
      ...{ request: ['DELETE', '/ord_gone', { headers: { 'if-match': '"1"' } }], expected: [204] },
    },
    {
      does: 'deletes an order that is not there',
      states: [absent('never')],
      ...{ procedure: 'orders.delete', input: { id: 'ord_never' } },
      answer: data({ deleted: false }),
      ...{ request: ['DELETE', '/ord_never'], expected: [204] },
    },
    {
      does: 'deletes a version of an order that is no more',
      states: [pending('delete_stale', 2)],
      ...{ procedure: 'orders.delete', input: { id: 'ord_delete_stale', ifMatch: '"1"' } },
      answer: stale,
      request: ['DELETE', '/ord_delete_stale', { headers: { 'if-match': '"1"' } }],
      ...{ expected: [412, 'precondition_failed'], etag: '"2"' },
    },
  ])('$does', async ({ request, expected, etag = null, retryAfter = null, ...call }) => {
    await expectCall({ kind: 'mutation', ...call }, async () => {
      const { status, headers, json } = await callApi(...request)
      expect([status, ...(status < 400 ? [] : [json.code])]).toEqual(expected)
      expect([headers.get('etag'), headers.get('retry-after')]).toEqual([etag, retryAfter])
      if (status < 400) expect(json).toEqual(shownOf(call.answer))
    })
  })

  /** What the caller of the gateway reads after this answer of fulfilment: an order, a page of orders, or nothing. */
  function shownOf({ body }: Exchange['answer']): unknown {
    const answered = (reify(body as never) as { result: { data: Record<string, unknown> } }).result.data
    return 'deleted' in answered ? {} : (answered.order ?? answered)
  }
})
