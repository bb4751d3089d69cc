import { createHmac } from 'node:crypto'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { MatchersV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { type ConsumerContract, compareAtTheEnd, type Exchange, openConsumerContract } from './consumer-contract.ts'

const { like, number } = MatchersV3

// The APIs belong to the providers, so nobody verifies these contracts here: they say what the gateway sends and reads.
// Not where the gateway of a test looks for fulfilment.
const NOWHERE = 'http://127.0.0.1:2'
const SECRET = 'the-secret-hash-of-a-test-of-contracts'
const TOKEN = 'the-token-of-an-api-of-a-provider'
const SECRETS = [{ id: 's1', value: SECRET }]
const FETCH = { fetch: { baseUrl: NOWHERE, token: TOKEN } }
const HEADERS = { authorization: `Bearer ${TOKEN}`, accept: 'application/json' }
const FORM = 'application/x-www-form-urlencoded'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
let apiUrl = NOWHERE
const gateway = stack.use(
  await startGateway({
    database,
    providers: {
      mollie: { scheme: 'mollie-classic', ...FETCH },
      mercadopago: { scheme: 'mercadopago', ...FETCH, secrets: SECRETS },
      flutterwave: { scheme: 'flutterwave', ...FETCH, secrets: SECRETS },
      gitlab: { scheme: 'gitlab', ...FETCH, secrets: SECRETS },
    },
    fetch: (input, init) => fetch(String(input).replace(NOWHERE, apiUrl), init),
  }),
)

const PROVIDERS = ['mollie', 'mercadopago', 'flutterwave', 'gitlab'] as const

interface Asked {
  readonly provider: (typeof PROVIDERS)[number]
  readonly does: string
  readonly path: string
  /** Default: the token in `Authorization`. */
  readonly headers?: Exchange['request']['headers']
  readonly answer: Exchange['answer']
  readonly objectId: string
  /** The notification of the provider about the object. */
  readonly notify: () => Promise<Response>
  /** The status of the answer to the provider, and the event that is stored. */
  readonly expected: readonly [status: number, event: object | null]
}

function post(path: string, headers: Record<string, string>, body: string): Promise<Response> {
  return fetch(`${gateway.url}/api/webhooks/${path}`, { method: 'POST', headers, body })
}

const notifyMollie = (id: string) => () => post('mollie', { 'content-type': FORM }, `id=${id}`)

function notifyMercadopago(id: string) {
  return () => {
    const ts = Math.floor(Date.now() / 1_000)
    const v1 = createHmac('sha256', SECRET).update(`id:${id};request-id:req-${id};ts:${ts};`).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-signature': `ts=${ts},v1=${v1}`,
      'x-request-id': `req-${id}`,
    }
    const body = JSON.stringify({ type: 'payment', action: 'payment.updated', data: { id } })
    return post(`mercadopago?data.id=${id}&type=payment`, headers, body)
  }
}

function notifyFlutterwave(id: number) {
  const headers = { 'content-type': 'application/json', 'verif-hash': SECRET }
  return () => post('flutterwave', headers, JSON.stringify({ event: 'charge.completed', data: { id } }))
}

function notifyGitlab(iid: number) {
  const headers = { 'content-type': 'application/json', 'x-gitlab-token': SECRET }
  const body = { object_kind: 'merge_request', project: { id: 7 }, object_attributes: { iid } }
  return () => post('gitlab', headers, JSON.stringify(body))
}

const json = (body: object): Exchange['answer'] => ({
  ...{ status: 200, headers: { 'Content-Type': 'application/json' }, body: body as never },
})

const CASES: readonly Asked[] = [
  {
    ...{ provider: 'mollie', does: 'reads a payment', path: '/payments/tr_paid', objectId: 'tr_paid' },
    answer: json({
      ...{
        resource: 'payment',
        id: 'tr_paid',
        status: 'paid',
        amount: { value: like('19.99'), currency: like('EUR') },
      },
      ...{ paidAt: like('2026-01-01T10:00:00+00:00'), metadata: { order_id: like('ord_1') } },
    }),
    notify: notifyMollie('tr_paid'),
    expected: [200, { type: 'payment.succeeded', orderId: 'ord_1', facts: { amount: 1999, currency: 'EUR' } }],
  },
  {
    ...{
      provider: 'mollie',
      does: 'reads a payment that is not there',
      path: '/payments/tr_none',
      objectId: 'tr_none',
    },
    ...{ answer: { status: 404 }, notify: notifyMollie('tr_none'), expected: [401, null] },
  },
  {
    ...{ provider: 'mercadopago', does: 'reads a payment', path: '/v1/payments/11', objectId: '11' },
    answer: json({
      ...{ id: 11, status: 'approved', transaction_amount: number(58.8), currency_id: like('BRL') },
      ...{ external_reference: like('ord_1'), date_last_updated: like('2026-01-01T00:00:00.000-04:00') },
    }),
    notify: notifyMercadopago('11'),
    expected: [200, { type: 'payment.succeeded', orderId: 'ord_1', facts: { amount: 5880, currency: 'BRL' } }],
  },
  {
    ...{ provider: 'flutterwave', does: 'verifies a transaction', path: '/transactions/21/verify', objectId: '21' },
    answer: json({
      data: {
        ...{ id: 21, status: 'successful', amount: number(200), currency: like('NGN'), tx_ref: like('ord_1') },
        created_at: like('2026-01-01T10:00:00.000Z'),
      },
    }),
    notify: notifyFlutterwave(21),
    expected: [200, { type: 'payment.succeeded', orderId: 'ord_1', facts: { amount: 20_000, currency: 'NGN' } }],
  },
  {
    ...{ provider: 'flutterwave', does: 'verifies a transaction while the API fails', objectId: '22' },
    ...{
      path: '/transactions/22/verify',
      answer: { status: 500 },
      notify: notifyFlutterwave(22),
      expected: [500, null],
    },
  },
  {
    ...{ provider: 'gitlab', does: 'reads a merge request', path: '/api/v4/projects/7/merge_requests/3' },
    headers: { 'private-token': TOKEN, accept: 'application/json' },
    answer: json({ state: like('merged'), updated_at: like('2026-01-01T10:00:00.000Z') }),
    ...{ objectId: '7/merge_requests/3', notify: notifyGitlab(3) },
    expected: [200, { type: 'merge_request.merged' }],
  },
  {
    ...{ provider: 'gitlab', does: 'reads a merge request that is not there' },
    path: '/api/v4/projects/7/merge_requests/4',
    headers: { 'private-token': TOKEN, accept: 'application/json' },
    ...{ answer: { status: 404 }, objectId: '7/merge_requests/4', notify: notifyGitlab(4), expected: [401, null] },
  },
]

describe.each(PROVIDERS)('the gateway as a client of %s', (provider) => {
  const contract: Promise<ConsumerContract> = openConsumerContract('gateway', `${provider}-api`)
  compareAtTheEnd(contract)

  it.each(CASES.filter((one) => one.provider === provider))(
    '$does',
    async ({ does, path, answer, headers = HEADERS, ...more }) => {
      const request = { method: 'GET', path, headers }
      const states = [{ description: 'nothing in particular' }]
      await (await contract).expectExchange({ does, states, request, answer }, async (url) => {
        apiUrl = url
        const [status, event] = more.expected
        expect((await more.notify()).status).toBe(status)
        const stored = await database.db.collection('events').findOne({ provider, objectId: more.objectId })
        if (event === null) expect(stored).toBeNull()
        else expect(stored).toMatchObject(event)
      })
    },
  )
})
