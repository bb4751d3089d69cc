import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { compareAtTheEnd, type Exchange, type NeededState, openConsumerContract } from './consumer-contract.ts'
import { absent, orderOf, pending } from './gateway-contract.ts'
import { CONTENT } from './paid-orders.ts'

const { like, regex, string } = MatchersV3

const contract = openConsumerContract('shop', 'orders-api')
compareAtTheEnd(contract)
const JSON_TYPE = 'application/json; charset=utf-8'
const TOKEN = { Authorization: 'Bearer the-token-of-a-shop-in-a-test-of-contracts' }

function answered(status: number, body: unknown, headers: Record<string, unknown> = {}): Exchange['answer'] {
  return { status, headers: { 'Content-Type': JSON_TYPE, ...headers }, body } as Exchange['answer']
}

function refused(status: number, code: string, headers: Record<string, unknown> = {}): Exchange['answer'] {
  return answered(
    status,
    { error: string('A sentence'), code, requestId: like('a-request-id') },
    {
      ...{ 'Cache-Control': 'no-store', ...headers },
    },
  )
}

interface ShopCall {
  readonly does: string
  readonly states?: readonly NeededState[]
  readonly method: string
  readonly path: string
  readonly query?: Record<string, string>
  readonly headers?: Record<string, string>
  readonly body?: object
  readonly answer: Exchange['answer']
}

const ID = regex(/^ord_[a-z2-7]{26}$/, 'ord_abcdefghijklmnopqrstuvwxyz')
const LOCATION = regex(/^\/api\/orders\/ord_[a-z2-7]{26}$/, '/api/orders/ord_abcdefghijklmnopqrstuvwxyz')
const CALLS: readonly ShopCall[] = [
  {
    ...{ does: 'makes an order', method: 'POST', path: '', body: CONTENT, headers: { 'Idempotency-Key': '"key-1"' } },
    answer: answered(201, orderOf(ID), { ETag: '"1"', Location: LOCATION }),
  },
  {
    ...{ does: 'puts an order that was not there', states: [absent('put')], method: 'PUT', path: '/ord_put' },
    ...{ headers: { 'If-None-Match': '*' }, body: CONTENT },
    answer: answered(201, orderOf('ord_put'), { ETag: '"1"' }),
  },
  {
    ...{ does: 'reads an order', states: [pending('read')], method: 'GET', path: '/ord_read' },
    answer: answered(200, orderOf('ord_read'), { ETag: '"1"' }),
  },
  {
    ...{ does: 'reads an order that it has', states: [pending('known')], method: 'GET', path: '/ord_known' },
    ...{ headers: { 'If-None-Match': '"1"' }, answer: { status: 304, headers: { ETag: '"1"' } } },
  },
  {
    ...{ does: 'reads an order that is not there', states: [absent('none')], method: 'GET', path: '/ord_none' },
    answer: refused(404, 'order_not_found'),
  },
  {
    ...{ does: 'reads a page of orders', states: [pending('listed')], method: 'GET', path: '', query: { limit: '1' } },
    answer: answered(200, { items: [orderOf('ord_listed')] }),
  },
  {
    ...{ does: 'changes an order', states: [pending('changed')], method: 'PATCH', path: '/ord_changed' },
    ...{ headers: { 'If-Match': '"1"' }, body: { note: 'a note' } },
    answer: answered(200, orderOf('ord_changed', 2, { note: 'a note' }), { ETag: '"2"' }),
  },
  {
    ...{ does: 'changes a version that is no more', states: [pending('stale', 2)], method: 'PATCH' },
    ...{ path: '/ord_stale', headers: { 'If-Match': '"1"' }, body: { note: 'a note' } },
    answer: refused(412, 'precondition_failed', { ETag: '"2"' }),
  },
  {
    ...{ does: 'changes an order without a version', states: [pending('blind')], method: 'PATCH', path: '/ord_blind' },
    ...{ body: { note: 'a note' }, answer: refused(428, 'precondition_required') },
  },
  {
    ...{ does: 'deletes an order', states: [pending('gone')], method: 'DELETE', path: '/ord_gone' },
    answer: { status: 204 },
  },
  {
    ...{ does: 'makes something that is no order', method: 'POST', path: '', body: { customerId: 1 } },
    answer: refused(400, 'invalid_request'),
  },
  {
    does: 'reads an order with a token that is unknown',
    states: [{ description: 'the shop has another token' }],
    ...{ method: 'GET', path: '/ord_1' },
    answer: refused(401, 'unauthenticated', { 'WWW-Authenticate': regex(/^Bearer/, 'Bearer') }),
  },
  {
    does: 'deletes an order with a token that may only read',
    states: [{ description: 'the shop may only read' }],
    ...{ method: 'DELETE', path: '/ord_1' },
    answer: refused(403, 'scope_missing'),
  },
  {
    does: 'reads an order while fulfilment does not answer',
    states: [{ description: 'fulfilment does not answer' }],
    ...{ method: 'GET', path: '/ord_1' },
    answer: refused(503, 'unavailable', { 'Retry-After': regex(/^\d+$/, '1') }),
  },
]

// A shop has its own client, in any language. Its requests are written down here.
describe('a shop', () => {
  it.each(CALLS)('$does', async ({ does, states, method, path, query, headers, body, answer }) => {
    const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const request = { method, path: `/api/orders${path}`, headers: { ...TOKEN, ...type, ...headers } }
    const exchange: Exchange = {
      ...{ does, states: states ?? [{ description: 'nothing in particular' }], answer },
      request: { ...request, ...(query && { query }), ...(body && { body: body as never }) },
    }
    await (await contract).expectExchange(exchange, async (url) => {
      const search = query === undefined ? '' : `?${new URLSearchParams(query)}`
      const answered = await fetch(`${url}${request.path}${search}`, {
        ...{ method, headers: request.headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      expect(answered.status).toBe(answer.status)
    })
  })
})
