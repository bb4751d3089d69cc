import { createHmac } from 'node:crypto'
import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { PAYPAL_CHAIN } from '@oncehook/webhooks/testing/paypal-chain'
import { MatchersV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { mappedTypes } from '../support/providers/mapped-types.ts'
import { compareAtTheEnd, type Exchange, openConsumerContract } from './consumer-contract.ts'

const { integer, like, number } = MatchersV3

// The APIs belong to the providers, so nobody verifies these contracts here: they say what the gateway sends and reads.
// Not where the gateway of a test looks for fulfilment.
const NOWHERE = 'http://127.0.0.1:2'
const SECRET = 'the-secret-hash-of-a-test-of-contracts'
const TOKEN = 'the-token-of-an-api-of-a-provider'
const SECRETS = [{ id: 's1', value: SECRET }]
const FETCH = { fetch: { baseUrl: NOWHERE, token: TOKEN } }
const ACCEPT = { accept: 'application/json' }
const FORM = 'application/x-www-form-urlencoded'

const CREDENTIALS = 'the-client-of-a-test-of-contracts:the-secret-of-the-client'
const ACCESS_TOKEN = 'the-access-token-of-a-test-of-contracts'
const { signWith, value, ...paypalKey } = await makeDevelopmentSecret('paypal', Date.now())
const paypal = { scheme: 'paypal', secrets: [{ id: 's1', value }] }
const pinned = { ...paypal, ...paypalKey.gatewaySettings, fetch: { baseUrl: NOWHERE, token: CREDENTIALS } }

/** The providers of the gateway, by name. Each of those of PayPal has a separate access token. */
const PROVIDERS = {
  mollie: { scheme: 'mollie-classic', ...FETCH },
  mercadopago: { scheme: 'mercadopago', ...FETCH, secrets: SECRETS },
  flutterwave: { scheme: 'flutterwave', ...FETCH, secrets: SECRETS },
  gitlab: { scheme: 'gitlab', ...FETCH, secrets: SECRETS },
  ...Object.fromEntries(['signs-in', 'refused', 'reads', 'absent', 'expired', 'fails'].map((name) => [name, pinned])),
  certificate: { ...paypal, sandbox: true },
}

let answer: typeof globalThis.fetch = fetch
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(
  await startGateway({
    ...{ database, providers: PROVIDERS },
    // Nothing listens where it looks for fulfilment.
    fetch: (input, init) => (String(input).includes('/trpc/') ? fetch : answer)(input, init),
  }),
)

interface Asked {
  readonly does: string
  readonly request: Exchange['request']
  readonly answer: Exchange['answer']
  /** The provider in the gateway, and the id of the object that it asks for. */
  readonly about: { readonly provider: string; readonly objectId?: string }
  /** The notification of the provider about the object. */
  readonly notify: () => Promise<Response>
  /** The status of the answer to the provider, and the event that is stored. */
  readonly expected: readonly [status: number, event: object | null]
  /** What the API answers to other calls than that of the exchange. */
  readonly others?: (path: string) => Response
}

function post(path: string, headers: Record<string, string>, body: string): Promise<Response> {
  return fetch(`${gateway.url}/api/webhooks/${path}`, { method: 'POST', headers, body })
}

const get = (path: string, headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` }) => ({
  ...{ method: 'GET', path, headers: { ...ACCEPT, ...headers } },
})

const json = (body: object): Exchange['answer'] => ({
  ...{ status: 200, headers: { 'Content-Type': 'application/json' }, body: body as never },
})

const paidIn = (currency: string, amount: number) => ({
  ...{ type: 'payment.succeeded', orderId: 'ord_1', facts: { amount, currency } },
})

/** What the statuses of an object of an API mean, by the document of the provider. */
interface StatusRows {
  readonly object: string
  /** What is before the status in the name of a type. */
  readonly kind: string
  readonly document: string
  readonly paid: readonly string[]
  readonly failed: readonly string[]
  /** These mean neither. */
  readonly others: readonly string[]
}

const STATUSES = {
  'mollie-classic': [
    {
      ...{ object: 'a payment', kind: 'payment', document: 'docs.mollie.com/docs/status-change' },
      ...{ paid: ['paid'], failed: ['canceled', 'expired', 'failed'], others: ['open', 'pending', 'authorized'] },
    },
    {
      ...{ object: 'an order', kind: 'order', document: 'docs.mollie.com/reference/get-order' },
      ...{
        paid: ['paid', 'completed'],
        failed: ['canceled', 'expired'],
        others: ['created', 'authorized', 'shipping'],
      },
    },
  ],
  mercadopago: [
    {
      ...{ object: 'a payment', kind: 'payment', document: 'mercadopago.com/developers, Get payment' },
      ...{ paid: ['approved'], failed: ['rejected', 'cancelled'], others: ['authorized', 'refunded', 'charged_back'] },
    },
    {
      ...{ object: 'an order', kind: 'order', document: 'mercadopago.com/developers, Order status' },
      ...{ paid: ['processed'], failed: ['canceled', 'expired', 'failed'], others: ['action_required', 'refunded'] },
    },
  ],
  flutterwave: [
    {
      ...{
        object: 'a transaction',
        kind: 'charge.completed',
        document: 'developer.flutterwave.com, Verify transactions',
      },
      ...{ paid: ['successful'], failed: ['failed'], others: ['pending'] },
    },
  ],
} as const satisfies Record<string, readonly StatusRows[]>

/** A call for each status. `asking` says how the object of this number is asked for, and what its API says of it. */
function ofStatuses(
  { object, kind, document, paid, failed, others }: StatusRows,
  facts: object,
  asking: (status: string, number: number) => Pick<Asked, 'request' | 'about' | 'notify' | 'answer'>,
): Asked[] {
  const meaningOf = (status: string): string => (failed.includes(status) ? 'payment.failed' : `${kind}.${status}`)
  return [...paid, ...failed, ...others].map((status, number) => ({
    does: `reads ${object} that is ${status}, as in ${document}`,
    ...asking(status, number),
    expected: [200, { type: paid.includes(status) ? 'payment.succeeded' : meaningOf(status), orderId: 'ord_1', facts }],
  }))
}

/** A call for each place in which an object names its order: of several, the first counts. */
function ofReferences(
  does: string,
  places: readonly object[],
  asking: (named: object, number: number) => Pick<Asked, 'request' | 'about' | 'notify' | 'answer'>,
): Asked[] {
  return places.map((named, number) => ({
    does: `${does} that names its order in ${JSON.stringify(named)}`,
    ...asking(named, number),
    expected: [200, { orderId: 'ord_1' }],
  }))
}

function ofMollie(id: string) {
  const notify = () => post('mollie', { 'content-type': FORM }, `id=${id}`)
  const collection = id.startsWith('ord_') ? 'orders' : 'payments'
  return { request: get(`/${collection}/${id}`), about: { provider: 'mollie', objectId: id }, notify }
}

function ofMercadopago(id: string, topic = 'payment') {
  const notify = () => {
    const ts = Math.floor(Date.now() / 1_000)
    const v1 = createHmac('sha256', SECRET).update(`id:${id};request-id:req-${id};ts:${ts};`).digest('hex')
    const signed = { 'x-signature': `ts=${ts},v1=${v1}`, 'x-request-id': `req-${id}` }
    const body = JSON.stringify({ type: topic, action: `${topic}.updated`, data: { id } })
    return post(`mercadopago?data.id=${id}&type=${topic}`, { 'content-type': 'application/json', ...signed }, body)
  }
  return { request: get(`/v1/${topic}s/${id}`), about: { provider: 'mercadopago', objectId: id }, notify }
}

function ofFlutterwave(id: number) {
  const headers = { 'content-type': 'application/json', 'verif-hash': SECRET }
  const body = JSON.stringify({ event: 'charge.completed', data: { id } })
  const about = { provider: 'flutterwave', objectId: String(id) }
  return { request: get(`/transactions/${id}/verify`), about, notify: () => post('flutterwave', headers, body) }
}

function mollieObject(id: string, members: object) {
  const amount = { value: like('19.99'), currency: like('EUR') }
  const answer = json({ id, amount, paidAt: like('2026-01-01T10:00:00+00:00'), ...members })
  return { ...ofMollie(id), answer }
}

function mercadopagoPayment(id: number, members: object) {
  const money = { transaction_amount: number(58.8), currency_id: like('BRL') }
  const answer = json({ id, ...money, date_last_updated: like('2026-01-01T00:00:00.000-04:00'), ...members })
  return { ...ofMercadopago(String(id)), answer }
}

function flutterwaveTransaction(id: number, members: object) {
  const data = { id, amount: number(200), currency: like('NGN'), created_at: like('2026-01-01T10:00:00.000Z') }
  return { ...ofFlutterwave(id), answer: json({ data: { ...data, ...members } }) }
}

function ofGitlab(iid: number) {
  const headers = { 'content-type': 'application/json', 'x-gitlab-token': SECRET }
  const body = { object_kind: 'merge_request', project: { id: 7 }, object_attributes: { iid } }
  return {
    request: get(`/api/v4/projects/7/merge_requests/${iid}`, { 'private-token': TOKEN }),
    about: { provider: 'gitlab', objectId: `7/merge_requests/${iid}` },
    notify: () => post('gitlab', headers, JSON.stringify(body)),
  }
}

function paypalEvent(id: string): object {
  const resource = { id: 'cap_1', custom_id: 'ord_1', amount: { value: '19.99', currency_code: 'EUR' } }
  return { id, event_type: 'PAYMENT.CAPTURE.COMPLETED', create_time: '2026-01-01T10:00:00.000Z', resource }
}

/** A delivery of PayPal to this provider, whose name is also the id of the event. Other calls are answered as usual. */
function ofPaypal(
  provider: string,
  request: Exchange['request'] = get(`/v1/notifications/webhooks-events/${provider}`),
) {
  const notify = () => {
    const signer = signers.get('paypal') ?? expect.unreachable()
    const body = Buffer.from(JSON.stringify(paypalEvent(provider)))
    const settings = paypalKey.signerSettings ?? {}
    const { headers, contentType } = signDelivery(signer, { body, secret: signWith, now: Date.now(), settings })
    return post(provider, { ...Object.fromEntries(headers), 'content-type': contentType }, body.toString())
  }
  const granted = { access_token: ACCESS_TOKEN, expires_in: 32_400 }
  const others = (path: string) => Response.json(path === '/v1/oauth2/token' ? granted : paypalEvent(provider))
  const authorized = { ...request, headers: { authorization: `Bearer ${ACCESS_TOKEN}`, ...ACCEPT } }
  return {
    request: request.path.includes('webhooks-events') ? authorized : request,
    about: { provider },
    notify,
    others,
  }
}

const signIn: Exchange['request'] = {
  ...{ method: 'POST', path: '/v1/oauth2/token', body: 'grant_type=client_credentials' },
  headers: {
    ...{ ...ACCEPT, authorization: `Basic ${Buffer.from(CREDENTIALS).toString('base64')}` },
    'content-type': FORM,
  },
}

const APIS: Readonly<Record<string, readonly Asked[]>> = {
  mollie: [
    ...ofStatuses(STATUSES['mollie-classic'][0], { amount: 1999, currency: 'EUR' }, (status) =>
      mollieObject(`tr_${status}`, { status, metadata: { order_id: like('ord_1') } }),
    ),
    ...ofStatuses(STATUSES['mollie-classic'][1], { amount: 1999, currency: 'EUR' }, (status) =>
      mollieObject(`ord_${status}`, { status, metadata: { order_id: like('ord_1') } }),
    ),
    ...ofReferences(
      'reads an object',
      [
        { metadata: { order_id: 'ord_1', orderId: 'ord_2' }, orderNumber: 'ord_3' },
        { metadata: { orderId: 'ord_1' }, orderNumber: 'ord_3' },
        { metadata: '{"order_id":"ord_1"}', orderNumber: 'ord_3' },
        { metadata: null, orderNumber: 'ord_1' },
      ],
      (named, number) => mollieObject(`ord_named${number}`, { status: 'paid', ...named }),
    ),
    ...['amountRefunded', 'amountChargedBack'].map((member) => ({
      ...{ does: `reads a paid payment with ${member}`, ...ofMollie(`tr_${member}`) },
      answer: mollieObject(`tr_${member}`, { status: 'paid', [member]: { value: '19.99', currency: 'EUR' } }).answer,
      expected: [200, { type: member === 'amountRefunded' ? 'payment.refunded' : 'payment.charged_back' }] as const,
    })),
    {
      ...{ does: 'reads a payment that is not there', ...ofMollie('tr_none') },
      ...{ answer: { status: 404 }, expected: [401, null] },
    },
  ],
  mercadopago: [
    ...ofStatuses(STATUSES.mercadopago[0], { amount: 5880, currency: 'BRL' }, (status, number) =>
      mercadopagoPayment(11 + number, { status, external_reference: like('ord_1') }),
    ),
    ...ofStatuses(STATUSES.mercadopago[1], { amount: 5880, currency: 'BRL' }, (status, number) => ({
      ...ofMercadopago(`ORD${number}`, 'order'),
      answer: json({
        ...{ id: `ORD${number}`, status, total_amount: like('58.80'), currency: like('BRL') },
        ...{ external_reference: like('ord_1'), last_updated_date: like('2026-01-01T00:00:00.000Z') },
      }),
    })),
    ...ofReferences(
      'reads a payment',
      [
        { external_reference: 'ord_1', metadata: { order_id: 'ord_2' } },
        { external_reference: '', metadata: { order_id: 'ord_1', orderId: 'ord_2' } },
        { external_reference: null, metadata: { orderId: 'ord_1' } },
      ],
      (named, number) => mercadopagoPayment(31 + number, { status: 'approved', ...named }),
    ),
  ],
  flutterwave: [
    ...ofStatuses(STATUSES.flutterwave[0], { amount: 20_000, currency: 'NGN' }, (status, number) =>
      flutterwaveTransaction(31 + number, { status, tx_ref: like('ord_1') }),
    ),
    ...ofReferences(
      'verifies a transaction',
      [{ tx_ref: 'ord_1', reference: 'ord_2' }, { reference: 'ord_1' }],
      (named, number) => flutterwaveTransaction(41 + number, { status: 'successful', ...named }),
    ),
    {
      ...{ does: 'verifies a transaction while the API fails', ...ofFlutterwave(22) },
      ...{ answer: { status: 500 }, expected: [500, null] },
    },
  ],
  gitlab: [
    {
      ...{ does: 'reads a merge request', ...ofGitlab(3), expected: [200, { type: 'merge_request.merged' }] },
      answer: json({ state: like('merged'), updated_at: like('2026-01-01T10:00:00.000Z') }),
    },
    {
      ...{ does: 'reads a merge request that is not there', ...ofGitlab(4) },
      ...{ answer: { status: 404 }, expected: [401, null] },
    },
  ],
  paypal: [
    {
      ...{ does: 'signs in', ...ofPaypal('signs-in', signIn), expected: [200, paidIn('EUR', 1999)] },
      answer: json({ access_token: like(ACCESS_TOKEN), expires_in: integer(32_400) }),
    },
    {
      ...{ does: 'signs in with credentials that are refused', ...ofPaypal('refused', signIn) },
      ...{ answer: { status: 401 }, expected: [500, null] },
    },
    {
      ...{ does: 'reads an event', ...ofPaypal('reads'), expected: [200, paidIn('EUR', 1999)] },
      answer: json({
        ...{ id: 'reads', event_type: 'PAYMENT.CAPTURE.COMPLETED', create_time: like('2026-01-01T10:00:00.000Z') },
        resource: {
          ...{ id: like('cap_1'), custom_id: like('ord_1') },
          amount: { value: like('19.99'), currency_code: like('EUR') },
        },
      }),
    },
    {
      ...{ does: 'reads an event that is not there', ...ofPaypal('absent') },
      ...{ answer: { status: 404 }, expected: [401, null] },
    },
    {
      // It signs in again, and reads the event.
      ...{ does: 'reads an event with an access token that is no longer valid', ...ofPaypal('expired') },
      ...{ answer: { status: 401 }, expected: [200, paidIn('EUR', 1999)] },
    },
    {
      ...{ does: 'reads an event while the API fails', ...ofPaypal('fails') },
      ...{ answer: { status: 503 }, expected: [500, null] },
    },
    {
      // Its chain leads to a root that only tests trust: it was read, and does not count.
      does: 'reads the certificate of a delivery',
      ...ofPaypal('certificate', { method: 'GET', path: '/v1/notifications/certs/CERT-SIMULATOR', headers: {} }),
      answer: {
        ...{ status: 200, headers: { 'Content-Type': 'text/plain' } },
        body: [PAYPAL_CHAIN.leaf, PAYPAL_CHAIN.intermediate, PAYPAL_CHAIN.root].join('\n'),
      },
      expected: [401, null],
    },
  ],
}

/** Sends the first call to this path to `url`, and answers the others as usual. */
function answerOnce(path: string, url: string, others: Asked['others']): void {
  let isAsked = false
  answer = async (input, init) => {
    const { pathname, search } = new URL(String(input))
    if (others !== undefined && (pathname !== path || isAsked)) return others(pathname)
    isAsked = true
    return fetch(`${url}${pathname}${search}`, init)
  }
}

it.each(Object.entries<readonly StatusRows[]>(STATUSES))(
  '%s has a call for each status that counts',
  (scheme, rows) => {
    const named = (which: 'paid' | 'failed') =>
      rows.flatMap((row) => row[which].map((status) => `${row.kind}.${status}`))
    // A type with the same name as ours counts without a mapping.
    const failed = named('failed').filter((name) => name !== 'payment.failed')
    const mapped = ['payment.succeeded', 'payment.failed'].map((ours) => mappedTypes(scheme, ours))
    expect([named('paid').toSorted(), failed.toSorted()]).toEqual(mapped)
  },
)

describe.each(Object.entries(APIS))('the gateway as a client of %s', (api, cases) => {
  const contract = openConsumerContract('gateway', `${api}-api`)
  compareAtTheEnd(contract)

  it.each(cases)('$does', async ({ does, request, about, notify, expected, others, ...asked }) => {
    const exchange = { does, states: [{ description: 'nothing in particular' }], request, answer: asked.answer }
    await (await contract).expectExchange(exchange, async (url) => {
      answerOnce(request.path, url, others)
      const [status, event] = expected
      expect((await notify()).status).toBe(status)
      const stored = await database.db.collection('events').findOne({ ...about })
      if (event === null) expect(stored).toBeNull()
      else expect(stored).toMatchObject(event)
    })
  })
})
