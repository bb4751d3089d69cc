import { startGateway } from '@oncehook/gateway/testing/start-gateway'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { PAYPAL_CHAIN } from '@oncehook/webhooks/testing/paypal-chain'
import { SNS_CONFIRMATION } from '@oncehook/webhooks/testing/sns-confirmation'
import { MatchersV3 } from '@pact-foundation/pact'
import { afterAll, describe, expect, it } from 'vitest'
import { mappedTypes } from '../support/providers/mapped-types.ts'
import {
  ACCESS_TOKEN,
  type Asked,
  flutterwaveTransaction,
  GITLAB,
  json,
  mercadopagoOrder,
  mercadopagoPayment,
  mollieObject,
  NOWHERE,
  ofFlutterwave,
  ofGitlab,
  ofMollie,
  ofPaypal,
  ofPlaidKey,
  ofReferences,
  ofSnsMessage,
  ofStatuses,
  PROVIDERS,
  paidIn,
  plaidKey,
  STATUSES,
  settingOf,
  signIn,
  sns,
} from './asked-apis.ts'
import { compareAtTheEnd, openConsumerContract } from './consumer-contract.ts'

const { integer, like } = MatchersV3

let answer: typeof globalThis.fetch = fetch
const clock = { at: null as number | null, now: () => clock.at ?? Date.now() }
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const gateway = stack.use(
  await startGateway({
    ...{ database, providers: PROVIDERS, clock },
    // Nothing listens where it looks for fulfilment.
    fetch: (input, init) => (String(input).includes('/trpc/') ? fetch : answer)(input, init),
  }),
)

const MOLLIE_FACTS = { amount: 1999, currency: 'EUR', occurredAt: '2026-01-01T10:00:00.000Z' }

const APIS: Readonly<Record<string, readonly Asked[]>> = {
  mollie: [
    ...ofStatuses(['mollie-classic', 'payment'], MOLLIE_FACTS, (status) =>
      mollieObject(`tr_${status}`, { status, metadata: { order_id: like('ord_1') } }),
    ),
    ...ofStatuses(['mollie-classic', 'order'], MOLLIE_FACTS, (status) =>
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
    {
      ...{ does: 'reads a payment that is no longer there', ...ofMollie('tr_gone') },
      ...{ answer: { status: 410 }, expected: [401, null] },
    },
    {
      ...{ does: 'reads a payment that is elsewhere: the token is for nobody else', ...ofMollie('tr_moved') },
      ...{ answer: { status: 302, headers: { Location: `${NOWHERE}/elsewhere` } }, expected: [500, null] },
    },
  ],
  mercadopago: [
    ...ofStatuses(['mercadopago', 'payment'], { amount: 5880, currency: 'BRL' }, (status, number) =>
      mercadopagoPayment(11 + number, { status, external_reference: like('ord_1') }),
    ),
    ...ofStatuses(['mercadopago', 'order'], { amount: 5880, currency: 'BRL' }, (status, number) =>
      mercadopagoOrder(number, { status }),
    ),
    {
      does: 'reads an order that is processed and refunded, as in mercadopago.com/developers, Order status',
      ...mercadopagoOrder(21, { status: 'processed', status_detail: 'refunded' }),
      expected: [200, { type: 'order.refunded', orderId: 'ord_1', facts: { amount: 5880, currency: 'BRL' } }],
    },
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
    ...ofStatuses(['flutterwave', 'charge.completed'], { amount: 20_000, currency: 'NGN' }, (status, number) =>
      flutterwaveTransaction(31 + number, { status, tx_ref: like('ord_1') }),
    ),
    ...ofReferences(
      'verifies a transaction',
      [{ tx_ref: 'ord_1', reference: 'ord_2' }, { reference: 'ord_1' }],
      (named, number) => flutterwaveTransaction(41 + number, { status: 'successful', ...named }),
    ),
    {
      ...{ does: 'reads a transfer', ...ofFlutterwave(51, 'transfer.completed') },
      answer: flutterwaveTransaction(51, { status: like('SUCCESSFUL'), reference: like('ord_1') }).answer,
      expected: [200, { type: 'transfer.completed.SUCCESSFUL', orderId: 'ord_1' }],
    },
    {
      ...{ does: 'verifies a transaction while the API fails', ...ofFlutterwave(22) },
      ...{ answer: { status: 500 }, expected: [500, null] },
    },
  ],
  gitlab: [
    // docs.gitlab.com/user/project/integrations/webhook_events
    ...GITLAB.map(([kind, collection, more, answer]) => ({
      ...{ does: `reads one of ${collection}`, ...ofGitlab(kind, collection, more) },
      answer: json({ ...answer, updated_at: like('2026-01-01T10:00:00.000Z') }),
      expected: [200, { type: `${kind}.merged` }] as const,
    })),
    {
      does: 'reads a merge request that is not there',
      ...ofGitlab('merge_request', 'merge_requests', { object_attributes: { iid: 4 } }, 4),
      ...{ answer: { status: 404 }, expected: [401, null] },
    },
  ],
  // plaid.com/docs/api/webhooks/webhook-verification
  plaid: [
    {
      ...{ does: 'asks for the key of a delivery', ...ofPlaidKey('plaid') },
      ...{ answer: json({ key: plaidKey, request_id: like('RZ6Omi1bzzwDaLo') }), expected: [200] },
    },
    {
      ...{ does: 'asks for a key that is not there', ...ofPlaidKey('plaid-without-key'), expected: [401, null] },
      answer: { status: 400, body: { error_code: 'INVALID_WEBHOOK_VERIFICATION_KEY_ID' } },
    },
    {
      ...{ does: 'asks for a key with credentials that are refused', ...ofPlaidKey('plaid-refused') },
      ...{ answer: { status: 400, body: { error_code: 'INVALID_API_KEYS' } }, expected: [500, null] },
    },
  ],
  // docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html
  sns: [
    {
      does: 'confirms a subscription',
      ...ofSnsMessage('sns', JSON.stringify(SNS_CONFIRMATION), SNS_CONFIRMATION.SubscribeURL),
      ...{ answer: { status: 200 }, expected: [200, null] },
    },
    {
      does: 'reads the certificate of a message',
      ...ofSnsMessage('sns-certificate', Buffer.from(sns.body, 'base64').toString(), SNS_CONFIRMATION.SigningCertURL),
      answer: {
        ...{ status: 200, headers: { 'Content-Type': 'text/plain' } },
        body: settingOf<string>(sns, 'certificates').join('\n'),
      },
      expected: [200, { type: 'Notification' }],
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
      origin: 'https://api.sandbox.paypal.com',
      answer: {
        ...{ status: 200, headers: { 'Content-Type': 'text/plain' } },
        body: [PAYPAL_CHAIN.leaf, PAYPAL_CHAIN.intermediate, PAYPAL_CHAIN.root].join('\n'),
      },
      expected: [401, null],
    },
  ],
}

/** Sends the first call to this path to `url`, and answers the others as usual. Returns the places that were asked. */
function answerOnce(path: string, url: string, others: Asked['others']): Set<string> {
  const origins = new Set<string>()
  answer = async (input, init) => {
    const { origin, pathname, search } = new URL(String(input))
    if (others !== undefined && (pathname !== path || origins.size > 0)) return others(pathname)
    origins.add(origin)
    return fetch(`${url}${pathname}${search}`, init)
  }
  return origins
}

it.each(['flutterwave', 'mercadopago', 'mollie-classic'])('%s has a call for each status that counts', (scheme) => {
  const rows = STATUSES.filter((row) => row.scheme === scheme)
  const named = (which: 'paid' | 'failed') => rows.flatMap((row) => row[which].map((one) => `${row.kind}.${one}`))
  // A type with the same name as ours counts without a mapping.
  const failed = named('failed').filter((name) => name !== 'payment.failed')
  const mapped = ['payment.succeeded', 'payment.failed'].map((ours) => mappedTypes(scheme, ours))
  expect([named('paid').toSorted(), failed.toSorted()]).toEqual(mapped)
})

describe.each(Object.entries(APIS))('the gateway as a client of %s', (api, cases) => {
  const contract = openConsumerContract('gateway', `${api}-api`)
  compareAtTheEnd(contract)

  it.each(cases)('$does', async ({ does, request, about, notify, expected, others, at = null, ...asked }) => {
    const exchange = { does, states: [{ description: 'nothing in particular' }], request, answer: asked.answer }
    await (await contract).expectExchange(exchange, async (url) => {
      const origins = answerOnce(request.path, url, others)
      const [status, event] = expected
      clock.at = at && at * 1_000
      expect((await notify(gateway.url)).status).toBe(status)
      expect([...origins]).toEqual([asked.origin ?? NOWHERE])
      const stored = await database.db.collection('events').findOne({ ...about })
      if (event === null) expect(stored).toBeNull()
      else if (event !== undefined) expect(stored).toMatchObject(event)
    })
  })
})
