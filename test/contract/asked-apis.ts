import { createHmac } from 'node:crypto'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { readVectorFiles, secretsOf, type Vector } from '@oncehook/webhooks/testing/vectors'
import { MatchersV3 } from '@pact-foundation/pact'
import { expect } from 'vitest'
import type { Exchange } from './consumer-contract.ts'

const { like, number } = MatchersV3

// The APIs belong to the providers, so nobody verifies these contracts here: they say what the gateway sends and reads.
// Not where the gateway of a test looks for fulfilment.
export const NOWHERE = 'http://127.0.0.1:2'
const SECRET = 'the-secret-hash-of-a-test-of-contracts'
const TOKEN = 'the-token-of-an-api-of-a-provider'
const SECRETS = [{ id: 's1', value: SECRET }]
const FETCH = { fetch: { baseUrl: NOWHERE, token: TOKEN } }
const ACCEPT = { accept: 'application/json' }
const FORM = 'application/x-www-form-urlencoded'

const CREDENTIALS = 'the-client-of-a-test-of-contracts:the-secret-of-the-client'
export const ACCESS_TOKEN = 'the-access-token-of-a-test-of-contracts'
const { signWith, value, ...paypalKey } = await makeDevelopmentSecret('paypal', Date.now())
const paypal = { scheme: 'paypal', secrets: [{ id: 's1', value }] }
// Deliveries that others have signed: the gateway must ask for the key, or confirm.
const plaid = firstVector('plaid')
export const sns = firstVector('sns')
export const [plaidKey] = settingOf<{ readonly kid: string }>(plaid, 'keys')
const ofPlaid = { scheme: 'plaid', secrets: secretsOf(plaid) }
const ofSns = { scheme: 'sns', secrets: secretsOf(sns) }
const pinned = { ...paypal, ...paypalKey.gatewaySettings, fetch: { baseUrl: NOWHERE, token: CREDENTIALS } }

/** The providers of the gateway, by name. Each of those of PayPal has a separate access token. */
export const PROVIDERS = {
  mollie: { scheme: 'mollie-classic', ...FETCH },
  mercadopago: { scheme: 'mercadopago', ...FETCH, secrets: SECRETS },
  flutterwave: { scheme: 'flutterwave', ...FETCH, secrets: SECRETS },
  gitlab: { scheme: 'gitlab', ...FETCH, secrets: SECRETS },
  ...Object.fromEntries(['signs-in', 'refused', 'reads', 'absent', 'expired', 'fails'].map((name) => [name, pinned])),
  certificate: { ...paypal, sandbox: true },
  ...{ plaid: ofPlaid, 'plaid-without-key': ofPlaid, 'plaid-refused': ofPlaid },
  ...{ sns: { ...ofSns, ...sns.settings }, 'sns-certificate': ofSns },
}

function firstVector(name: string): Vector {
  return readVectorFiles().find(({ scheme }) => scheme === name)?.cases[0] ?? expect.unreachable()
}

/** A setting of a vector that is a list. */
export function settingOf<Item>({ settings = {} }: Vector, name: string): readonly [Item, ...Item[]] {
  return settings[name] as [Item, ...Item[]]
}

/** A call of the gateway to the API of a provider. */
export interface Asked {
  readonly does: string
  readonly request: Exchange['request']
  readonly answer: Exchange['answer']
  /** The provider in the gateway, and the id of the object that it asks for. */
  readonly about: { readonly provider: string; readonly objectId?: string }
  /** The notification of the provider about the object. */
  readonly notify: Notify
  /** Where it asks. Default: where the settings say. */
  readonly origin?: string
  /** The time of the gateway, in seconds. Default: that of the machine. */
  readonly at?: number
  /** The status of the answer to the provider, and the event that is stored: null for none. */
  readonly expected: readonly [status: number, event?: object | null]
  /** What the API answers to other calls than that of the exchange. */
  readonly others?: (path: string) => Response
}

/** Posts to the gateway at `url`. */
type Notify = (url: string) => Promise<Response>

function post(path: string, headers: Record<string, string>, body: string): Notify {
  return (url) => fetch(`${url}/api/webhooks/${path}`, { method: 'POST', headers, body })
}

const get = (path: string, headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` }) => ({
  ...{ method: 'GET', path, headers: { ...ACCEPT, ...headers } },
})

export const json = (body: object, type = 'application/json'): Exchange['answer'] => ({
  ...{ status: 200, headers: { 'Content-Type': type }, body: body as never },
})

export const paidIn = (currency: string, amount: number) => ({
  ...{ type: 'payment.succeeded', orderId: 'ord_1', facts: { amount, currency } },
})

// The kind is before the status in the name of a type. Where the scheme asks, what a status means, by the document.
const STATUSES_OF_OBJECTS = `
mollie-classic | a payment | payment | docs.mollie.com/docs/status-change | paid | canceled expired failed | open pending authorized
mollie-classic | an order | order | docs.mollie.com/reference/get-order | paid completed | canceled expired | created authorized shipping
mercadopago | a payment | payment | mercadopago.com/developers, Get payment | approved | rejected cancelled | authorized refunded charged_back
mercadopago | an order | order | mercadopago.com/developers, Order status | processed | canceled expired failed | action_required refunded
flutterwave | a transaction | charge.completed | developer.flutterwave.com, Verify transactions | successful | failed | pending
`

/** The statuses of the objects of APIs: those that mean paid, failed and neither. */
export const STATUSES = STATUSES_OF_OBJECTS.trim()
  .split('\n')
  .map((row) => {
    const [scheme = '', object, kind, document, ...lists] = row.split(' | ')
    const [paid = [], failed = [], others = []] = lists.map((list) => list.split(' '))
    return { scheme, object, kind, document, paid, failed, others }
  })

/** A call for each status. `asking` says how the object of this number is asked for, and what its API says of it. */
export function ofStatuses(
  [scheme, kind]: readonly [scheme: string, kind: string],
  facts: object,
  asking: (status: string, number: number) => Pick<Asked, 'request' | 'about' | 'notify' | 'answer'>,
): Asked[] {
  const row = STATUSES.find((one) => one.scheme === scheme && one.kind === kind) ?? expect.unreachable()
  const { object, document, paid, failed, others } = row
  const meaningOf = (status: string): string => (failed.includes(status) ? 'payment.failed' : `${kind}.${status}`)
  return [...paid, ...failed, ...others].map((status, number) => ({
    does: `reads ${object} that is ${status}, as in ${document}`,
    ...asking(status, number),
    expected: [200, { type: paid.includes(status) ? 'payment.succeeded' : meaningOf(status), orderId: 'ord_1', facts }],
  }))
}

/** A call for each place in which an object names its order: of several, the first counts. */
export function ofReferences(
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

export function ofMollie(id: string) {
  const notify = post('mollie', { 'content-type': FORM }, `id=${id}`)
  const collection = id.startsWith('ord_') ? 'orders' : 'payments'
  return { request: get(`/${collection}/${id}`), about: { provider: 'mollie', objectId: id }, notify }
}

function ofMercadopago(id: string, topic = 'payment') {
  const notify: Notify = (url) => {
    const ts = Math.floor(Date.now() / 1_000)
    const v1 = createHmac('sha256', SECRET).update(`id:${id};request-id:req-${id};ts:${ts};`).digest('hex')
    const signed = { 'x-signature': `ts=${ts},v1=${v1}`, 'x-request-id': `req-${id}` }
    const body = JSON.stringify({ type: topic, action: `${topic}.updated`, data: { id } })
    return post(`mercadopago?data.id=${id}&type=${topic}`, { 'content-type': 'application/json', ...signed }, body)(url)
  }
  return { request: get(`/v1/${topic}s/${id}`), about: { provider: 'mercadopago', objectId: id }, notify }
}

export function ofFlutterwave(id: number, event = 'charge.completed') {
  const headers = { 'content-type': 'application/json', 'verif-hash': SECRET }
  const body = JSON.stringify({ event, data: { id } })
  const about = { provider: 'flutterwave', objectId: String(id) }
  const path = event === 'charge.completed' ? `/transactions/${id}/verify` : `/transfers/${id}`
  return { request: get(path), about, notify: post('flutterwave', headers, body) }
}

export function mollieObject(id: string, members: object) {
  const amount = { value: like('19.99'), currency: like('EUR') }
  const object = { id, amount, paidAt: like('2026-01-01T10:00:00+00:00'), ...members }
  return { ...ofMollie(id), answer: json(object, 'application/hal+json') }
}

export function mercadopagoPayment(id: number, members: object) {
  const money = { transaction_amount: number(58.8), currency_id: like('BRL') }
  const answer = json({ id, ...money, date_last_updated: like('2026-01-01T00:00:00.000-04:00'), ...members })
  return { ...ofMercadopago(String(id)), answer }
}

export function mercadopagoOrder(number: number, members: object) {
  const [id, money] = [`ORD${number}`, { total_amount: like('58.80'), currency: like('BRL') }]
  const order = { external_reference: like('ord_1'), last_updated_date: like('2026-01-01T00:00:00.000Z') }
  return { ...ofMercadopago(id, 'order'), answer: json({ id, ...money, ...order, ...members }) }
}

export function flutterwaveTransaction(id: number, members: object) {
  const data = { id, amount: number(200), currency: like('NGN'), created_at: like('2026-01-01T10:00:00.000Z') }
  return { ...ofFlutterwave(id), answer: json({ data: { ...data, ...members } }) }
}

/** The kinds of event about which GitLab is asked: where they are in its API, and what the event has. */
export const GITLAB = [
  ['merge_request', 'merge_requests', { object_attributes: { iid: 3, id: 93 } }, { state: like('merged') }],
  ['issue', 'issues', { object_attributes: { iid: 3, id: 93 } }, { state: like('merged') }],
  ['pipeline', 'pipelines', { object_attributes: { iid: 93, id: 3 } }, { status: like('merged') }],
  ['build', 'jobs', { build_id: 3, project_id: 7 }, { status: like('merged') }],
] as const

export function ofGitlab(object_kind: string, collection: string, more: object, number = 3) {
  const headers = { 'content-type': 'application/json', 'x-gitlab-token': SECRET }
  const body = { object_kind, project: { id: 7 }, ...more }
  return {
    request: get(`/api/v4/projects/7/${collection}/${number}`, { 'private-token': TOKEN }),
    about: { provider: 'gitlab', objectId: `7/${collection}/${number}` },
    notify: post('gitlab', headers, JSON.stringify(body)),
  }
}

function paypalEvent(id: string): object {
  const resource = { id: 'cap_1', custom_id: 'ord_1', amount: { value: '19.99', currency_code: 'EUR' } }
  return { id, event_type: 'PAYMENT.CAPTURE.COMPLETED', create_time: '2026-01-01T10:00:00.000Z', resource }
}

/** A delivery of PayPal to this provider, whose name is also the id of the event. Other calls are answered as usual. */
export function ofPaypal(
  provider: string,
  request: Exchange['request'] = get(`/v1/notifications/webhooks-events/${provider}`),
) {
  const notify: Notify = (url) => {
    const signer = signers.get('paypal') ?? expect.unreachable()
    const body = Buffer.from(JSON.stringify(paypalEvent(provider)))
    const settings = paypalKey.signerSettings ?? {}
    const { headers, contentType } = signDelivery(signer, { body, secret: signWith, now: Date.now(), settings })
    return post(provider, { ...Object.fromEntries(headers), 'content-type': contentType }, body.toString())(url)
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

export function ofPlaidKey(provider: string) {
  const [client_id, secret] = plaid.secret.split(':')
  const headers = { ...ACCEPT, 'content-type': 'application/json' }
  const body = { client_id, secret, key_id: plaidKey.kid } as never
  return {
    ...{ request: { method: 'POST', path: '/webhook_verification_key/get', headers, body }, at: plaid.now },
    ...{ about: { provider }, origin: 'https://production.plaid.com' },
    notify: post(provider, Object.fromEntries(plaid.headers), Buffer.from(plaid.body, 'base64').toString()),
  }
}

export function ofSnsMessage(provider: string, body: string, url: string) {
  const { origin, pathname: path, searchParams } = new URL(url)
  const request = { method: 'GET', path, query: Object.fromEntries(searchParams), headers: {} }
  return { origin, request, about: { provider }, notify: post(provider, { 'content-type': 'text/plain' }, body) }
}

export const signIn: Exchange['request'] = {
  ...{ method: 'POST', path: '/v1/oauth2/token', body: 'grant_type=client_credentials' },
  headers: {
    ...{ ...ACCEPT, authorization: `Basic ${Buffer.from(CREDENTIALS).toString('base64')}` },
    'content-type': FORM,
  },
}
