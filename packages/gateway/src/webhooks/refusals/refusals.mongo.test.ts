import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { hmacProvider } from '../../testing/hmac-provider.ts'
import { startGateway } from '../../testing/start-gateway.ts'
import { createOperatorClient, paymentEvent } from '../../testing/start-operated-system.ts'
import { REFUSALS } from './refusals.ts'

const canary = (name: string): string => `canary-${name}-${randomBytes(16).toString('hex')}`
const secrets = {
  newer: canary('newer'),
  ended: canary('ended'),
  shop: canary('shop'),
  test: canary('test'),
  token: canary('token'),
}
const operatorToken = canary('operator')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const refusals = database.db.collection(REFUSALS)
const gateway = stack.use(
  await startGateway({
    database,
    providers: {
      acme: {
        scheme: 'stripe',
        secrets: [
          { id: 'newer', value: secrets.newer },
          { id: 'ended', value: secrets.ended, notAfter: '2020-01-01T00:00:00Z' },
        ],
      },
      shop: hmacProvider({ id: 'only', value: secrets.shop }),
      'acme-test': { scheme: 'stripe', secrets: [{ id: 'one', value: secrets.test }], testMode: true },
      lab: {
        ...{ scheme: 'gitlab', secrets: [{ id: 'plain', value: secrets.token }] },
        fetch: { baseUrl: 'http://127.0.0.1:1', token: secrets.newer },
      },
    },
    settings: {
      OPERATOR_TOKENS: JSON.stringify({ alice: operatorToken }),
      MAX_WEBHOOK_BYTES: '100000',
      TRUSTED_PROXY_HOPS: '1',
    },
  }),
)
const operator = createOperatorClient(gateway.adminUrl, operatorToken)
const list = (input: Parameters<typeof operator.refusals.list.query>[0] = {}) => operator.refusals.list.query(input)

const removeAll = async () => void (await refusals.deleteMany())

const CANARY = 'canary of a body'
const JSON_TYPE = { 'content-type': 'application/json' }

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** The records of one request. */
const recordsOf = async (requestId: string | null) =>
  (await list({ limit: 100 })).items.filter((item) => item.requestId === requestId)

async function deliver(provider: string, { headers = {}, body = CANARY }: Sent = {}) {
  const response = await fetch(`${gateway.url}/api/webhooks/${provider}`, {
    ...{ method: 'POST', body },
    headers: { ...JSON_TYPE, 'x-forwarded-for': '203.0.113.77', ...headers },
  })
  await response.arrayBuffer()
  return { status: response.status, requestId: response.headers.get('x-request-id') }
}

function signed(body: string, { secret = secrets.newer, ageSeconds = 0 } = {}): Record<string, string> {
  const time = Math.floor(Date.now() / 1_000) - ageSeconds
  return { 'stripe-signature': `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}` }
}

/** The headers with which a shop signs a body that it was told how to write. */
function signedByShop(body: string): Record<string, string> {
  return { 'x-signature': createHmac('sha256', secrets.shop).update(body).digest('hex') }
}

// Made when it is sent: a signature is soon too old.
const forged = () => signed(CANARY, { secret: 'the secret of a forger' })

type Kind = readonly [name: string, delivery: () => Sent & { readonly provider?: string }, expected: object]

const KINDS: readonly Kind[] = [
  [
    'a wrong signature',
    () => ({ headers: { ...forged(), 'user-agent': 'forger/1.0', cookie: 'canary-cookie' } }),
    {
      ...{ reason: 'signature_invalid', why: 'signature_mismatch', status: 401, secretIds: ['newer'] },
      ...{ bytes: CANARY.length, network: '203.0.113.0/24' },
      signatureHeaders: [{ name: 'stripe-signature', isPresent: true }],
    },
  ],
  [
    'a missing signature',
    () => ({}),
    {
      ...{ reason: 'signature_invalid', why: 'header_missing', status: 401, secretIds: [] },
      signatureHeaders: [{ name: 'stripe-signature', isPresent: false }],
    },
  ],
  [
    'a plaintext token that is wrong',
    () => ({ provider: 'lab', headers: { 'x-gitlab-token': 'canary-token-of-a-forger' } }),
    { reason: 'signature_invalid', why: 'signature_mismatch', secretIds: ['plain'] },
  ],
  [
    'a body that is no JSON',
    () => ({ provider: 'shop', headers: signedByShop(CANARY) }),
    { reason: 'invalid_body', why: 'syntax', status: 400, secretIds: ['only'] },
  ],
  [
    'a compressed body',
    () => ({ headers: { 'content-encoding': 'gzip' } }),
    { reason: 'unsupported_media_type', status: 415, secretIds: [] },
  ],
  [
    'a body that is too large',
    () => ({ body: 'x'.repeat(100_001) }),
    { reason: 'payload_too_large', status: 413, secretIds: [], bytes: 100_001 },
  ],
]

// Records are written once a second, so these wait for the same write.
describe.concurrent('a refused delivery', () => {
  it.for(KINDS)(
    'with %s leaves a record, and nothing of its body or signature',
    async ([, make, expected], context) => {
      const { expect } = context
      const { provider = 'acme', ...sent } = make()
      const { requestId } = await deliver(provider, sent)
      await expect.poll(() => recordsOf(requestId)).toHaveLength(1)
      expect(await recordsOf(requestId)).toMatchObject([
        { ...expected, provider, requestId, at: expect.stringMatching(/^20.*Z$/) },
      ])
      const stored = JSON.stringify(await refusals.find().toArray())
      const values = Object.values(sent.headers ?? {}).flatMap((value) => value.match(/[\da-f]{64}/g) ?? [])
      for (const hidden of [...Object.values(secrets), ...values, CANARY, 'canary', '203.0.113.77', ':8:9']) {
        expect(stored).not.toContain(hidden)
      }
    },
  )

  it('shows what the sender is, in plain text', async ({ expect }) => {
    const headers = { ...forged(), 'user-agent': `robot\u0085${'x'.repeat(300)}`, 'webhook-id': 'msg_1' }
    const { requestId } = await deliver('acme', { headers })
    await expect.poll(() => recordsOf(requestId)).toHaveLength(1)
    const [shown] = await recordsOf(requestId)
    expect(shown?.headers).toEqual([
      { name: 'content-type', value: 'application/json' },
      { name: 'content-length', value: String(CANARY.length) },
      { name: 'user-agent', value: `robot\ufffd${'x'.repeat(194)}` },
      { name: 'webhook-id', value: 'msg_1' },
    ])
  })
})

describe.concurrent('the causes of a refusal', () => {
  const clock = {
    cause: 'clock',
    proved: true,
    message: expect.stringMatching(/ h old \(\d+ s\), but the tolerance is 300 s$/),
  }
  it.for<readonly [name: string, headers: () => Record<string, string>, causes: readonly object[]]>([
    ['an old time', () => signed(CANARY, { ageSeconds: 7_200 }), [clock]],
  ])('are shown for %s, as explain would', async ([, headers, causes], { expect }) => {
    const { requestId } = await deliver('acme', { headers: headers() })
    await expect.poll(() => recordsOf(requestId)).toMatchObject([{ provider: 'acme', causes }])
  })
})

describe('no record', () => {
  beforeEach(removeAll)

  it('is left by an authentic delivery, a repetition, an unknown provider, or another method', async () => {
    const body = JSON.stringify(paymentEvent(randomUUID()))
    const authentic = { body, headers: signed(body) }
    expect((await deliver('acme', authentic)).status).toBe(200)
    expect((await deliver('acme', authentic)).status).toBe(200)
    expect((await deliver('nobody')).status).toBe(404)
    expect((await fetch(`${gateway.url}/api/webhooks/acme`)).status).toBe(405)
    // Written in the order of the refusals, so nothing else is on its way.
    const { requestId } = await deliver('acme')
    await expect.poll(async () => (await list()).items).toMatchObject([{ requestId }])
  })
})

describe('refusals.list', () => {
  beforeEach(removeAll)

  it('has the newest first, by provider and by reason, in pages', async () => {
    for (const provider of ['acme', 'shop', 'acme']) await deliver(provider)
    await deliver('shop', { headers: { 'x-signature': 'ab'.repeat(32) } })
    await expect.poll(async () => (await list()).items.length).toBe(4)
    const { items, next } = await list({ limit: 3 })
    expect(items.map(({ provider }) => provider)).toEqual(['shop', 'acme', 'shop'])
    const last = await list({ limit: 3, after: next ?? '' })
    expect(last).toMatchObject({ items: [{ provider: 'acme' }], next: null })
    expect((await list({ reason: 'signature_mismatch' })).items).toMatchObject([{ provider: 'shop' }])
    expect((await list({ provider: 'acme', reason: 'signature_invalid' })).items).toHaveLength(2)
    expect((await list({ provider: '$acme' })).items).toEqual([])
    await expect(list({ after: 'x' })).rejects.toThrow()
  })
})

describe('refusals.counts', () => {
  beforeEach(removeAll)

  it('has the number of records for each reason, of all providers or of one', async () => {
    for (const provider of ['acme', 'shop', 'acme']) await deliver(provider)
    await deliver('shop', { headers: { 'x-signature': 'ab'.repeat(32) } })
    await deliver('acme', { body: 'x'.repeat(100_001) })
    await expect.poll(async () => (await list()).items.length).toBe(5)
    expect(await operator.refusals.counts.query()).toEqual([
      { reason: 'header_missing', records: 3 },
      { reason: 'payload_too_large', records: 1 },
      { reason: 'signature_mismatch', records: 1 },
    ])
    expect(await operator.refusals.counts.query({ provider: 'acme' })).toEqual([
      { reason: 'header_missing', records: 2 },
      { reason: 'payload_too_large', records: 1 },
    ])
    expect(await operator.refusals.counts.query({ provider: '$acme' })).toEqual([])
  })
})
