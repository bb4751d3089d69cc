import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { PAYPAL_CHAIN } from '@oncehook/webhooks/testing/paypal-chain'
import { MatchersV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { compareAtTheEnd, type Exchange, openConsumerContract } from './consumer-contract.ts'

const { integer, like } = MatchersV3

// The API belongs to PayPal, so nobody verifies this contract here: it says what the gateway sends and reads.
const NOWHERE = 'http://127.0.0.1:2'
const CREDENTIALS = 'the-client-of-a-test-of-contracts:the-secret-of-the-client'
const TOKEN = 'the-access-token-of-a-test-of-contracts'
const JSON_TYPE = { 'Content-Type': 'application/json' }
const CERTIFICATE = '/v1/notifications/certs/CERT-SIMULATOR'
const PEM = [PAYPAL_CHAIN.leaf, PAYPAL_CHAIN.intermediate, PAYPAL_CHAIN.root].join('\n')

const { signWith: secret, value, ...key } = await makeDevelopmentSecret('paypal', Date.now())
const secrets = [{ id: 's1', value }]
const pinned = { scheme: 'paypal', secrets, ...key.gatewaySettings, fetch: { baseUrl: NOWHERE, token: CREDENTIALS } }

const signIn: Exchange['request'] = {
  ...{ method: 'POST', path: '/v1/oauth2/token', body: 'grant_type=client_credentials' },
  headers: {
    ...{ accept: 'application/json', authorization: `Basic ${Buffer.from(CREDENTIALS).toString('base64')}` },
    'content-type': 'application/x-www-form-urlencoded',
  },
}
const read = (id: string): Exchange['request'] => ({
  ...{ method: 'GET', path: `/v1/notifications/webhooks-events/${id}` },
  headers: { accept: 'application/json', authorization: `Bearer ${TOKEN}` },
})

interface Asked {
  readonly does: string
  /** The name of the provider in the gateway: each has a separate access token. It is also the id of the event. */
  readonly provider: string
  readonly settings: object
  readonly request: Exchange['request']
  readonly answer: Exchange['answer']
  /** The status of the answer to PayPal, and the event that is stored. */
  readonly expected: readonly [status: number, event: object | null]
}

const PAID = { type: 'payment.succeeded', orderId: 'ord_1', facts: { amount: 1999, currency: 'EUR' } }

const CASES: readonly Asked[] = [
  {
    ...{ does: 'signs in', provider: 'signs-in', settings: pinned, request: signIn },
    answer: { status: 200, headers: JSON_TYPE, body: { access_token: like(TOKEN), expires_in: integer(32_400) } },
    expected: [200, PAID],
  },
  {
    ...{ does: 'signs in with credentials that are refused', provider: 'refused', settings: pinned, request: signIn },
    ...{ answer: { status: 401 }, expected: [500, null] },
  },
  {
    ...{ does: 'reads an event', provider: 'reads', settings: pinned, request: read('reads') },
    answer: {
      ...{ status: 200, headers: JSON_TYPE },
      body: {
        ...{ id: 'reads', event_type: 'PAYMENT.CAPTURE.COMPLETED', create_time: like('2026-01-01T10:00:00.000Z') },
        resource: {
          ...{ id: like('cap_1'), custom_id: like('ord_1') },
          amount: { value: like('19.99'), currency_code: like('EUR') },
        },
      },
    },
    expected: [200, PAID],
  },
  {
    ...{ does: 'reads an event that is not there', provider: 'absent', settings: pinned, request: read('absent') },
    ...{ answer: { status: 404 }, expected: [401, null] },
  },
  {
    // It signs in again, and reads the event.
    does: 'reads an event with an access token that is no longer valid',
    ...{ provider: 'expired', settings: pinned, request: read('expired') },
    ...{ answer: { status: 401 }, expected: [200, PAID] },
  },
  {
    ...{ does: 'reads an event while the API fails', provider: 'fails', settings: pinned, request: read('fails') },
    ...{ answer: { status: 503 }, expected: [500, null] },
  },
  {
    // Its chain leads to a root that only tests trust: it was read, and does not count.
    ...{ does: 'reads the certificate of a delivery', provider: 'certificate' },
    ...{
      settings: { scheme: 'paypal', secrets, sandbox: true },
      request: { method: 'GET', path: CERTIFICATE, headers: {} },
    },
    ...{ answer: { status: 200, headers: { 'Content-Type': 'text/plain' }, body: PEM }, expected: [401, null] },
  },
]

let answer: typeof globalThis.fetch = fetch
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(
  await startGateway({
    database,
    providers: Object.fromEntries(CASES.map(({ provider, settings }) => [provider, settings])),
    fetch: (input, init) => answer(input, init),
  }),
)

function bodyOf(id: string): object {
  const amount = { value: '19.99', currency_code: 'EUR' }
  const resource = { id: 'cap_1', custom_id: 'ord_1', amount }
  return { id, event_type: 'PAYMENT.CAPTURE.COMPLETED', create_time: '2026-01-01T10:00:00.000Z', resource }
}

async function deliver(provider: string): Promise<number> {
  const signer = signers.get('paypal') ?? expect.unreachable()
  const body = Buffer.from(JSON.stringify(bodyOf(provider)))
  const signed = signDelivery(signer, { body, secret, now: Date.now(), settings: key.signerSettings ?? {} })
  const headers = [
    ...signed.headers.map(([name, text]): [string, string] => [name, text]),
    ['content-type', signed.contentType],
  ]
  const sent = { method: 'POST', headers: headers as [string, string][], body }
  return (await fetch(`${gateway.url}/api/webhooks/${provider}`, sent)).status
}

/** Sends the first call to this path to `url`. PayPal answers the others as usual. */
function answerOnce(path: string, { url, provider }: { readonly url: string; readonly provider: string }): void {
  let isAsked = false
  answer = async (input, init) => {
    const { pathname } = new URL(String(input))
    if (pathname === '/v1/oauth2/token' && path !== pathname)
      return Response.json({ access_token: TOKEN, expires_in: 32_400 })
    if (pathname !== path || isAsked) return Response.json(bodyOf(provider))
    isAsked = true
    return fetch(`${url}${pathname}`, init)
  }
}

describe('the gateway as a client of PayPal', () => {
  const contract = openConsumerContract('gateway', 'paypal-api')
  compareAtTheEnd(contract)

  it.each(CASES)('$does', async ({ does, provider, request, ...asked }) => {
    const exchange = { does, states: [{ description: 'nothing in particular' }], request, answer: asked.answer }
    await (await contract).expectExchange(exchange, async (url) => {
      answerOnce(request.path, { url, provider })
      const [status, event] = asked.expected
      expect(await deliver(provider)).toBe(status)
      const stored = await database.db.collection('events').findOne({ provider })
      if (event === null) expect(stored).toBeNull()
      else expect(stored).toMatchObject(event)
    })
  })
})
