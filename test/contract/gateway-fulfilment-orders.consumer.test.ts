import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd } from './consumer-contract.ts'
import {
  absent,
  type Call,
  data,
  failed,
  OWN_TOKEN,
  openGatewayContract,
  orderOf,
  paid,
  pending,
  refusal,
  state,
  time,
} from './gateway-contract.ts'
import { CONTENT, UNUSUAL } from './paid-orders.ts'

const { regex, reify, string } = MatchersV3

const gateway = await openGatewayContract(process.env, (router) => router === 'orders')
compareAtTheEnd(gateway)
const { expectCall, callApi } = gateway

const NOTED = { ...CONTENT, note: 'changed' }
const IN_DOLLARS = { ...CONTENT, currency: 'USD' }
const EVERY_MEMBER = { email: 'a@example.com', note: 'a note', metadata: { colour: 'blue' } }
const AS_SELLER = { authorization: `Bearer ${OWN_TOKEN}` }

const paymentOf = (status: string) => ({ id: string('pay_1'), provider: 'acme', status, at: time() })
const PAID = { status: 'paid', access: 'unlocked', payment: paymentOf('succeeded') }
const FAILED = { status: 'payment_failed', payment: paymentOf('failed') }

/** A call of the gateway, and the request that causes it. */
interface OrderCall extends Call {
  readonly request: readonly [method: string, path: string, more?: { headers?: object; body?: object }]
}

type Asked = Pick<OrderCall, 'procedure' | 'kind' | 'input' | 'request'>

interface Conditions {
  readonly ifMatch?: string
  readonly ifNoneMatch?: string
}

const headersOf = ({ ifMatch, ifNoneMatch }: Conditions): object => ({
  ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
  ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
})

const FINGERPRINT = '1kQrVWMl7nCF9gxomY2Cxc6qxsKEJtVBswohiHhVmcE='
const idempotency = (key: string) => ({ idempotency: { principal: 'shop', key, fingerprint: FINGERPRINT } })

function post(order: object, key?: string): Asked {
  const input = { order, ...(key === undefined ? {} : idempotency(key)) }
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  return { procedure: 'orders.create', kind: 'mutation', input, request: ['POST', '', { body: order, headers }] }
}

function get(name: string): Asked {
  const id = `ord_${name}`
  return { procedure: 'orders.get', kind: 'query', input: { id }, request: ['GET', `/${id}`] }
}

function list(input: { readonly limit: number; readonly [name: string]: unknown }): Asked {
  const search = new URLSearchParams(
    Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return { procedure: 'orders.list', kind: 'query', input, request: ['GET', `?${search}`] }
}

function put(name: string, order: object, conditions: Conditions = {}): Asked {
  const id = `ord_${name}`
  const request = ['PUT', `/${id}`, { body: order, headers: headersOf(conditions) }] as const
  return { procedure: 'orders.put', kind: 'mutation', input: { id, order, ...conditions }, request }
}

function patch(name: string, changes: object, conditions: Conditions = {}): Asked {
  const id = `ord_${name}`
  const request = ['PATCH', `/${id}`, { body: changes, headers: headersOf(conditions) }] as const
  return { procedure: 'orders.patch', kind: 'mutation', input: { id, patch: changes, ...conditions }, request }
}

function remove(name: string, conditions: Conditions = {}): Asked {
  const id = `ord_${name}`
  const request = ['DELETE', `/${id}`, { headers: headersOf(conditions) }] as const
  return { procedure: 'orders.delete', kind: 'mutation', input: { id, ...conditions }, request }
}

/** The same call with a token for the caller's own orders. */
function asSeller({ input, request: [method, path, more], ...asked }: Asked): Asked {
  const request = [method, path, { ...more, headers: { ...more?.headers, ...AS_SELLER } }] as const
  return { ...asked, input: { ...input, owner: 'seller' }, request }
}

const made = (replayed: boolean, content: object = {}) =>
  data({ order: orderOf(regex(/^ord_[a-z2-7]{26}$/, 'ord_abcdefghijklmnopqrstuvwxyz'), 1, content), replayed })
const page = (name: string, members: object = {}, version = 1) => {
  const next = regex(new RegExp(`^\\d{13}\\.ord_${name}$`), `1760000000000.ord_${name}`)
  return data({ items: [orderOf(`ord_${name}`, version, members)], next })
}
const created = (name: string) => data({ order: orderOf(`ord_${name}`), created: true })
const replaced = (name: string, version: number) =>
  data({ order: orderOf(`ord_${name}`, version, { note: 'changed' }), created: false })
const otherVersion = (version: number | null) => refusal(412, 'precondition_failed', { retry: 'now', version })
const notFound = refusal(404, 'order_not_found')
const invalid = refusal(400, 'invalid_request')
const full = (name: string) => state('an order with every member was paid', { name })
const deleted = (name: string) => state('an order was deleted', { orderId: `ord_${name}` })
const own = (name: string) => state('there is an order of a principal', { orderId: `ord_${name}`, principal: 'seller' })

const ofBefore = made(true)

const CREATIONS: readonly OrderCall[] = [
  { does: 'makes an order', ...post(CONTENT), answer: made(false) },
  { does: 'makes an order under a key', ...post(CONTENT, 'key-new'), answer: made(false) },
  {
    ...{ does: 'makes an order under a key again', ...post(CONTENT, 'key-again'), answer: ofBefore },
    states: [state('an order was made under a key', { ...idempotency('key-again'), order: CONTENT })],
  },
  {
    ...{ does: 'makes another order under a key', ...post(CONTENT, 'key-reused') },
    states: [state('another order was made under a key', idempotency('key-reused'))],
    answer: refusal(422, 'idempotency_key_reused'),
  },
  {
    ...{ does: 'makes an order under a key whose first request is running', ...post(CONTENT, 'key-running') },
    states: [state('a request under a key is running', idempotency('key-running'))],
    answer: refusal(409, 'idempotency_in_progress', { retry: 'later' }),
  },
  { does: 'makes an order with all that it can hold', ...post(UNUSUAL), answer: made(false, UNUSUAL) },
  { does: 'makes an order that is none', ...post({ customerId: 1 }), answer: invalid },
]

const READS: readonly OrderCall[] = [
  { does: 'reads an order', states: [pending('read')], ...get('read'), answer: data(orderOf('ord_read')) },
  {
    ...{ does: 'reads an order with all that it can hold', states: [full('full')], ...get('full') },
    answer: data(orderOf('ord_full', 2, { ...PAID, ...EVERY_MEMBER })),
  },
  { does: 'reads an order that is not there', states: [absent('missing')], ...get('missing'), answer: notFound },
  {
    ...{ does: 'reads an order whose key of encryption is gone', ...get('encrypted') },
    states: [state('an order is encrypted by a key that is gone', { orderId: 'ord_encrypted' })],
    answer: refusal(503, 'key_unknown', { retry: 'later' }),
  },
  {
    ...{ does: 'reads an order that is damaged', ...get('torn'), answer: refusal(409, 'order_unreadable') },
    states: [state('an order cannot be shown', { orderId: 'ord_torn' })],
  },
  {
    ...{ does: 'reads an order whose payment failed', states: [failed('declined')], ...get('declined') },
    answer: data(orderOf('ord_declined', 2, FAILED)),
  },
  {
    ...{ does: 'reads an order that was deleted', states: [deleted('read_deleted')], ...get('read_deleted') },
    answer: notFound,
  },
  {
    does: 'reads an order of somebody else with a token for its own orders',
    ...{ states: [pending('foreign')], ...asSeller(get('foreign')), answer: notFound },
  },
  {
    does: 'reads an order of its own with a token for its own orders',
    ...{ states: [own('own')], ...asSeller(get('own')), answer: data(orderOf('ord_own')) },
  },
  {
    does: 'reads a page of orders with a token for its own orders',
    states: [own('own_row'), pending('row_of_another')],
    ...{ ...asSeller(list({ limit: 1 })), answer: data({ items: [orderOf('ord_own_row')] }) },
  },
  {
    does: 'reads the page after one, of those whose payment failed',
    ...{ states: [failed('row_1'), failed('row_2')], answer: page('row_2', FAILED, 2) },
    ...list({ limit: 1, after: '9999999999999.ord_z', status: 'payment_failed' }),
  },
  {
    ...{ does: 'reads a page of orders with all that they can hold', states: [paid('older_row'), full('full_row')] },
    ...{ ...list({ limit: 1, status: 'paid' }), answer: page('full_row', { ...PAID, ...EVERY_MEMBER }, 2) },
  },
  {
    ...{ does: 'reads a page of orders', states: [pending('older'), pending('newest')] },
    ...{ ...list({ limit: 1 }), answer: page('newest') },
  },
  {
    does: 'reads a page of orders, one of which is damaged',
    states: [pending('below_torn'), state('an order cannot be shown', { orderId: 'ord_torn_row' })],
    ...list({ limit: 1 }),
    answer: data({ items: [], unreadable: ['ord_torn_row'], next: string('1760000000000.ord_torn_row') }),
  },
  {
    ...{ does: 'reads the page after one, of those that are paid', states: [paid('listed')] },
    ...{ ...list({ limit: 100, after: '0.ord_0', status: 'paid' }), answer: data({ items: [], next: null }) },
  },
  {
    ...{ does: 'reads a page after something that is no cursor', states: [absent('cursor')] },
    ...{ ...list({ limit: 20, after: 'x' }), request: ['GET', '?after=x'], answer: invalid },
  },
]

const CHANGES: readonly OrderCall[] = [
  {
    ...{ does: 'puts an order that was not there', states: [absent('put')], answer: created('put') },
    ...put('put', CONTENT, { ifNoneMatch: '*' }),
  },
  {
    ...{ does: 'puts an order in place of the version it has read', states: [pending('replaced')] },
    ...{ ...put('replaced', NOTED, { ifMatch: '"1"' }), answer: replaced('replaced', 2) },
  },
  {
    ...{ does: 'puts an order in place of a version that is no more', states: [pending('put_stale', 2)] },
    ...{ ...put('put_stale', CONTENT, { ifMatch: '"1"' }), answer: otherVersion(2) },
  },
  {
    ...{ does: 'puts an order where there is none to match', states: [absent('put_absent')] },
    ...{ ...put('put_absent', CONTENT, { ifMatch: '*' }), answer: otherVersion(null) },
  },
  {
    ...{ does: 'puts an order in place of one of several versions', states: [pending('put_listed', 2)] },
    ...{ ...put('put_listed', NOTED, { ifMatch: 'W/"2", "2"' }), answer: replaced('put_listed', 3) },
  },
  {
    ...{ does: 'puts an order in place of a weak version', states: [pending('put_weak')] },
    ...{ ...put('put_weak', NOTED, { ifMatch: 'W/"1"' }), answer: otherVersion(1) },
  },
  {
    ...{ does: 'puts an order unless it is of a version', states: [pending('put_unless')] },
    ...{ ...put('put_unless', NOTED, { ifNoneMatch: 'W/"1"' }), answer: otherVersion(1) },
  },
  {
    ...{ does: 'puts an order on a condition that is none', states: [pending('put_unquoted')] },
    ...{ ...put('put_unquoted', NOTED, { ifMatch: '1' }), answer: invalid },
  },
  {
    ...{ does: 'puts an order with a token for its own orders', states: [absent('put_owned')] },
    ...{ ...asSeller(put('put_owned', CONTENT)), answer: created('put_owned') },
  },
  {
    ...{ does: 'patches an order with a token for its own orders', states: [own('patch_owned')] },
    ...asSeller(patch('patch_owned', { note: 'changed' }, { ifMatch: '"1"' })),
    answer: data(orderOf('ord_patch_owned', 2, { note: 'changed' })),
  },
  {
    ...{ does: 'deletes an order with a token for its own orders', states: [own('delete_owned')] },
    ...{ ...asSeller(remove('delete_owned')), answer: data({ deleted: true }) },
  },
  {
    ...{ does: 'puts an order under an id that it does not name itself', states: [absent('put_named')] },
    ...{ ...put('put_named', { ...CONTENT, id: 'ord_other' }), answer: refusal(409, 'id_mismatch') },
  },
  {
    ...{ does: 'puts other items into an order that is paid', states: [paid('put_paid')] },
    ...{ ...put('put_paid', IN_DOLLARS), answer: refusal(409, 'order_paid') },
  },
  {
    ...{ does: 'patches an order', states: [pending('patched')] },
    ...patch('patched', { note: 'changed' }, { ifMatch: '"1"' }),
    answer: data(orderOf('ord_patched', 2, { note: 'changed' })),
  },
  {
    ...{ does: 'patches an order without a version', states: [pending('unconditional')] },
    ...{ ...patch('unconditional', { note: 'changed' }), answer: refusal(428, 'precondition_required') },
  },
  {
    ...{ does: 'patches a version of an order that is no more', states: [pending('patch_stale', 2)] },
    ...{ ...patch('patch_stale', { note: 'changed' }, { ifMatch: '"1"' }), answer: otherVersion(2) },
  },
  {
    ...{ does: 'patches an order that is not there', states: [absent('patch_absent')] },
    ...{ ...patch('patch_absent', {}, { ifMatch: '*' }), answer: notFound },
  },
  {
    ...{ does: 'patches an order into something that is none', states: [pending('patch_broken')] },
    ...{ ...patch('patch_broken', { items: null }, { ifMatch: '"1"' }), answer: refusal(422, 'patch_unprocessable') },
  },
  {
    ...{ does: 'patches the currency of an order that is paid', states: [paid('patch_paid')] },
    ...{ ...patch('patch_paid', { currency: 'USD' }, { ifMatch: '"2"' }), answer: refusal(409, 'order_paid') },
  },
  {
    ...{ does: 'deletes an order', states: [pending('gone')] },
    ...{ ...remove('gone', { ifMatch: '"1"' }), answer: data({ deleted: true }) },
  },
  {
    ...{ does: 'deletes an order that is not there', states: [absent('never')] },
    ...{ ...remove('never'), answer: data({ deleted: false }) },
  },
  {
    ...{ does: 'deletes a version of an order that is no more', states: [pending('delete_stale', 2)] },
    ...{ ...remove('delete_stale', { ifMatch: '"1"' }), answer: otherVersion(2) },
  },
]

interface Body {
  readonly result?: { readonly data: Readonly<Record<string, unknown>> }
  readonly error?: { readonly data: Readonly<Record<string, unknown>> }
}

const etagOf = (version: unknown): string | null => (typeof version === 'number' ? `"${version}"` : null)

/** What the caller of the gateway receives after this answer of fulfilment. */
function receivedAfter({ status, body }: Call['answer']) {
  const { result, error } = reify(body as never) as unknown as Body
  if (error !== undefined) {
    const { reason, retry, version } = error.data
    return { status, code: reason, etag: etagOf(version), retryAfter: retry === 'later' ? '1' : null, json: null }
  }
  const { deleted: isDeleted, created: isCreated, replayed, order, ...shown } = result?.data ?? {}
  const json = isDeleted === undefined ? ((order ?? shown) as Record<string, unknown>) : {}
  const isNew = isCreated === true || replayed !== undefined
  const ok = isDeleted === undefined ? (isNew ? 201 : 200) : 204
  return { status: ok, code: undefined, etag: etagOf(json.version), retryAfter: null, json }
}

describe('the gateway as a client of orders', () => {
  it.each([...CREATIONS, ...READS, ...CHANGES])('$does', async ({ request, ...call }) => {
    await expectCall(call, async () => {
      const { status, headers, json: received } = await callApi(...request)
      const { json, ...expected } = receivedAfter(call.answer)
      const [etag, retryAfter] = [headers.get('etag'), headers.get('retry-after')]
      expect({ status, code: received.code, etag, retryAfter }).toEqual(expected)
      if (json !== null) expect(received).toMatchObject(json)
      else if (expected.code === 'invalid_request') expect(received.error).toBe('A sentence of fulfilment')
      if (call.procedure !== 'orders.create') return
      if (json !== null) expect(headers.get('location')).toBe(`/api/orders/${json.id}`)
      expect(headers.get('idempotent-replayed')).toBe(call.answer === ofBefore ? 'true' : null)
    })
  })
})
