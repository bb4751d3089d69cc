import { MatchersV3 } from '@pact-foundation/pact'
import { describe, expect, it } from 'vitest'
import { checkApiToken, checkGateway } from '../../packages/cli/src/doctor/check-listeners.ts'
import { createOrdersClient, prepareOrders } from '../../packages/cli/src/send/orders.ts'
import { testContext } from '../../packages/cli/src/testing/run-command.ts'
import { compareAtTheEnd, type Exchange, openConsumerContract } from './consumer-contract.ts'
import { absent, orderOf, pending } from './gateway-contract.ts'
import { CONTENT } from './paid-orders.ts'

const { regex, reify, string } = MatchersV3

const contract = openConsumerContract('cli', 'orders-api')
compareAtTheEnd(contract)
const TOKEN = 'the-token-of-a-shop-in-a-test-of-contracts'
const authorization = `Bearer ${TOKEN}`
const written = { authorization, 'content-type': 'application/json' }
const body = CONTENT as never
const ID = regex(/^ord_[a-z2-7]{26}$/, 'ord_abcdefghijklmnopqrstuvwxyz')
// What the command line asks after a 412.
const THERE: typeof fetch = async (input, init) =>
  init?.method === 'GET' ? Response.json(reify(orderOf('ord_there') as never)) : fetch(input, init)
const clientAt = (url: string, ask = fetch) =>
  createOrdersClient({ fetch: ask, gateway: { url, token: TOKEN } as never })

function answered(status: number, answer: object): Exchange['answer'] {
  return { status, headers: { 'Content-Type': 'application/json; charset=utf-8' }, body: answer as never }
}

const CALLS: readonly (Omit<Exchange, 'states'> & Partial<Exchange> & { ask: (url: string) => Promise<void> })[] = [
  {
    ...{ does: 'makes an order', request: { method: 'POST', path: '/api/orders', headers: written, body } },
    answer: answered(201, orderOf(ID)),
    ask: async (url) => expect((await clientAt(url).create(CONTENT)).amountDue).toBe(1999),
  },
  {
    ...{ does: 'reads an order', states: [pending('read')], answer: answered(200, orderOf('ord_read')) },
    request: { method: 'GET', path: '/api/orders/ord_read', headers: { authorization } },
    ask: async (url) => expect((await clientAt(url).read('ord_read')).version).toBe(1),
  },
  {
    ...{
      does: 'makes an order unless it is there',
      states: [absent('put')],
      answer: answered(201, orderOf('ord_put')),
    },
    request: { method: 'PUT', path: '/api/orders/ord_put', headers: { ...written, 'if-none-match': '*' }, body },
    ask: async (url) => expect((await clientAt(url).ensure('ord_put', CONTENT)).created).toBe(true),
  },
  {
    ...{ does: 'makes an order that is there', states: [pending('there')], answer: { status: 412 } },
    request: { method: 'PUT', path: '/api/orders/ord_there', headers: { ...written, 'if-none-match': '*' }, body },
    ask: async (url) => expect((await clientAt(url, THERE).ensure('ord_there', CONTENT)).created).toBe(false),
  },
  {
    ...{ does: 'reads an order that is not there', states: [absent('none')], answer: { status: 404 } },
    request: { method: 'GET', path: '/api/orders/ord_none', headers: { authorization } },
    ask: async (url) => {
      const asked = prepareOrders(clientAt(url), { order: 'ord_none' } as never)
      await expect(asked).rejects.toThrow('There is no order ord_none')
    },
  },
  {
    ...{ does: 'asks whether its token is accepted', answer: { status: 200 } },
    request: { method: 'GET', path: '/api/orders', query: { limit: '1' }, headers: { authorization } },
    ask: async (url) => expect((await checkApiToken(testContext(), { url, token: TOKEN })).level).toBe('ok'),
  },
  {
    ...{ does: 'asks whether the gateway answers', request: { method: 'GET', path: '/healthz', headers: {} } },
    answer: { status: 200, headers: { Date: string('Sat, 21 Nov 2026 08:00:00 GMT') } },
    ask: async (url) => expect((await checkGateway(testContext(), url))[0]?.level).toBe('ok'),
  },
]

describe('the command line', () => {
  it.each(CALLS)('$does', async ({ ask, ...exchange }) => {
    const states = [{ description: 'nothing in particular' }]
    await (await contract).expectExchange({ states, ...exchange }, ask)
  })
})
