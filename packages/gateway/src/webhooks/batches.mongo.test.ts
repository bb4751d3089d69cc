import { generateKeyPairSync, hash, randomBytes, randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import { type SignedDelivery, signDelivery } from '@oncehook/webhooks/signing/signer'
import { signers } from '@oncehook/webhooks/signing/signers'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../inbox/event-document.ts'
import { startGateway } from '../testing/start-gateway.ts'
import { createOperatorClient } from '../testing/start-operated-system.ts'

const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const secrets = {
  gocardless: randomBytes(20).toString('hex'),
  sendgrid: keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  adyen: randomBytes(32).toString('hex'),
  shopify: randomBytes(20).toString('hex'),
  twilio: randomBytes(20).toString('hex'),
}
const SETTINGS: Readonly<Record<string, object>> = {
  sendgrid: { maxBytes: 2_097_152 },
  twilio: { publicUrl: 'https://pay.example.com/twilio' },
}
const providers = Object.fromEntries(
  Object.entries(secrets).map(([scheme, value]) => [
    scheme,
    { scheme, secrets: [{ id: 'only', value }], ...SETTINGS[scheme] },
  ]),
)
const signing = { ...secrets, sendgrid: String(keys.privateKey.export({ format: 'pem', type: 'pkcs8' })) }

type Scheme = keyof typeof secrets

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const events = database.db.collection<EventDocument>(EVENTS)
const OPERATOR = randomBytes(24).toString('hex')
const settings = { RATE_LIMIT_PROVIDER: '0', OPERATOR_TOKENS: JSON.stringify({ tests: OPERATOR }) }
const gateways = [
  stack.use(await startGateway({ database, providers, settings })),
  stack.use(await startGateway({ database, providers, settings })),
] as const

function sign(scheme: Scheme, body: Uint8Array): SignedDelivery {
  const request = { body, secret: signing[scheme], now: Date.now(), settings: { ...SETTINGS[scheme] } }
  return signDelivery(signers.get(scheme) ?? expect.unreachable(), request)
}

async function deliver(scheme: Scheme, signed: SignedDelivery, to = 0): Promise<number> {
  return (await send(scheme, signed, to)).status
}

async function send(scheme: Scheme, { body, headers, contentType, query }: SignedDelivery, to = 0) {
  const response = await fetch(`${gateways[to % 2]?.url}/api/webhooks/${scheme}?${query}`, {
    method: 'POST',
    headers: [['content-type', contentType], ...headers.map(([name, value]): [string, string] => [name, value])],
    body,
  })
  return { status: response.status, body: (await response.json()) as { error?: string } }
}

/** Event types that change no order. */
const TYPES = {
  gocardless: 'mandates.created',
  sendgrid: 'delivered',
  adyen: 'REPORT_AVAILABLE',
  twilio: 'com.twilio.error-logs.error.logged',
} as const

type Batching = keyof typeof TYPES

/** `count` events, and the ids that they have here. The order makes each of them `bytes` bytes long or a little more. */
function batch(scheme: Batching, count: number, bytes = 0) {
  const list = Array.from({ length: count }, (): PaymentEvent => {
    const id = randomUUID()
    const event = { id, type: TYPES[scheme], paymentId: id, amount: 0, currency: 'EUR', occurredAt: Date.now() }
    const room = bytes - write(scheme, [{ ...event, orderId: '' }]).length
    return { ...event, orderId: 'x'.repeat(Math.max(3, room)) }
  })
  return { list, ids: list.map(({ id }) => (scheme === 'adyen' ? `${id}:REPORT_AVAILABLE:true` : id)) }
}

function write(scheme: Batching, list: readonly PaymentEvent[]): Uint8Array {
  return signers.get(scheme)?.batch?.writeEvents(list) ?? expect.unreachable()
}

function signAll(scheme: Batching, list: readonly PaymentEvent[]): SignedDelivery {
  return sign(scheme, write(scheme, list))
}

const REAL = [
  ['gocardless', 250, 450],
  ['sendgrid', 1_200, 640],
  ['adyen', 250, 700],
] as const

describe('a delivery of many events', () => {
  it.each(REAL)('of %s with %i events of %i bytes gets its 200 at the first time', async (scheme, count, bytes) => {
    const { ids, list } = batch(scheme, count, bytes)
    expect(await deliver(scheme, signAll(scheme, list))).toBe(200)
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(count)
  })

  it('does not delay the 200 of another provider, however many arrive at once', async () => {
    const batches = Array.from({ length: 6 }, () => batch('sendgrid', 1_200, 640))
    // A busy machine may not store all of them before the deadline: then their provider sends them again.
    const deliverUntilStored = async (signed: SignedDelivery): Promise<number> => {
      const status = await deliver('sendgrid', signed)
      return status === 500 ? deliverUntilStored(signed) : status
    }
    const big = batches.map(({ list }) => deliverUntilStored(signAll('sendgrid', list)))
    const small = Array.from({ length: 60 }, (_, index) =>
      deliver('shopify', sign('shopify', Buffer.from(JSON.stringify({ id: index, padding: randomUUID() })))),
    )
    expect(new Set(await Promise.all(small))).toEqual(new Set([200]))
    expect(await Promise.all(big)).toEqual(big.map(() => 200))
    const ids = batches.flatMap((one) => one.ids)
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(ids.length)
  })

  it('counts an id that it has twice as one event', async () => {
    const { ids, list } = batch('gocardless', 3)
    expect(await deliver('gocardless', signAll('gocardless', [...list, ...list]))).toBe(200)
    const stored = await events.find({ eventId: { $in: ids } }).toArray()
    expect(stored.map(({ deliveries }) => deliveries)).toEqual([1, 1, 1])
    const logged = gateways[0].logs.filter(({ eventId }) => ids.some((id) => id === eventId))
    expect(logged.map(({ msg }) => msg)).toEqual(Array(3).fill('event.unhandled'))
  })

  it.each([
    ['gocardless', 1_001],
    ['sendgrid', 5_001],
    ['adyen', 251],
  ] as const)('of %s with %i events is kept as one without an effect', async (scheme, count) => {
    const { ids, list } = batch(scheme, count)
    const signed = signAll(scheme, list)
    expect(await deliver(scheme, signed)).toBe(200)
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(0)
    const eventId = `sha256:${hash('sha256', signed.body, 'base64url')}`
    expect(await events.findOne({ eventId })).toMatchObject({ state: 'unhandled', reason: 'unreadable' })
  })

  it('of adyen is stored but for the items that are not authentic, and is asked for again until they are', async () => {
    const { ids, list } = batch('adyen', 3)
    const signed = signAll('adyen', list)
    const forged = Buffer.from(signed.body).toString().replace('"merchantReference":"xxx"', '"merchantReference":"yyy"')
    for (const to of [0, 1]) {
      const { status, body } = await send('adyen', { ...signed, body: Buffer.from(forged) }, to)
      expect([status, body]).toEqual([401, expect.objectContaining({ code: 'signature_invalid' })])
    }
    const known = () => events.distinct('eventId', { eventId: { $in: ids } })
    expect(await known()).toEqual(ids.slice(1).toSorted())
    expect(gateways[0].logs).toContainEqual(
      expect.objectContaining({ msg: 'webhook.refused', reason: 'signature_mismatch', items: '0' }),
    )
    const operator = createOperatorClient(gateways[0].adminUrl, OPERATOR)
    const message = expect.stringMatching(/: items 0, counted from 0; the others are stored$/)
    await expect
      .poll(async () => (await operator.refusals.list.query({ provider: 'adyen' })).items)
      .toContainEqual(expect.objectContaining({ reason: 'signature_invalid', message }))
    expect(await deliver('adyen', signed)).toBe(200)
    expect(await known()).toEqual(ids.toSorted())
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(3)
  })

  it('shows its whole body with each event, which can be checked and read again', async () => {
    const { ids, list } = batch('gocardless', 3)
    const signed = signAll('gocardless', list)
    expect(await deliver('gocardless', signed)).toBe(200)
    const operator = createOperatorClient(gateways[1].adminUrl, OPERATOR)
    const records = await events.find({ eventId: { $in: ids } }).toArray()
    for (const id of records.map(({ _id }) => String(_id))) {
      const shown = await operator.events.get.query({ id, body: true })
      expect(Buffer.from(shown.raw ?? '', 'base64').equals(Buffer.from(signed.body))).toBe(true)
      expect(await operator.events.reverify.query({ id })).toEqual({ valid: true, secretId: 'only', failure: null })
    }

    // As an older mapping could have read it.
    const [id = ''] = ids
    await events.updateOne({ eventId: id }, { $set: { type: 'read.before', orderId: 'read before' } })
    const record = await events.findOne({ eventId: id })
    await operator.events.replay.mutate({ ids: [String(record?._id)], reason: 'read it again', includeDone: true })
    const read = async () => (await events.findOne({ eventId: id }))?.type
    await expect.poll(read).toBe('mandates.created')
  })
})
