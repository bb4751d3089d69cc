import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { type SignedDelivery, signDelivery } from '@oncehook/simulator/signers/signer'
import { signers } from '@oncehook/simulator/signers/signers'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { EVENTS, type EventDocument } from './inbox/event-document.ts'
import { startGateway } from './testing/start-gateway.ts'
import { createOperatorClient } from './testing/start-operated-system.ts'

// Other tests may keep the machine busy meanwhile.
vi.setConfig({ testTimeout: 60_000 })

const keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const secrets = {
  gocardless: randomBytes(20).toString('hex'),
  sendgrid: keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  adyen: randomBytes(32).toString('hex'),
  shopify: randomBytes(20).toString('hex'),
  twilio: randomBytes(20).toString('hex'),
}
const SETTINGS: Readonly<Record<string, object>> = { twilio: { publicUrl: 'https://pay.example.com/twilio' } }
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

function sign(scheme: Scheme, document: unknown): SignedDelivery {
  const signer = signers.get(scheme)
  if (signer === undefined) throw new Error(scheme)
  const request = { body: Buffer.from(JSON.stringify(document)), secret: signing[scheme], now: Date.now() }
  return signDelivery(signer, { ...request, settings: { ...SETTINGS[scheme] } })
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

/** A document of the scheme with as many items, each of about `bytes` bytes as the provider writes them. */
function batch(scheme: 'gocardless' | 'sendgrid' | 'adyen', count: number, bytes: number) {
  const ids = Array.from({ length: count }, () => randomUUID())
  const items = ids.map((id) => padded(ITEMS[scheme](id), bytes))
  if (scheme === 'gocardless') return { ids, document: { events: items } }
  if (scheme === 'sendgrid') return { ids, document: items }
  const notificationItems = items.map((item) => ({ NotificationRequestItem: item }))
  return { ids: ids.map((id) => `${id}:REPORT_AVAILABLE:true`), document: { live: 'false', notificationItems } }
}

const ITEMS = {
  gocardless: (id: string) => ({ id, resource_type: 'mandates', action: 'created', links: { mandate: 'MD1' } }),
  sendgrid: (id: string) => ({ sg_event_id: id, event: 'delivered', sg_message_id: 'm1', timestamp: 1_760_000_000 }),
  adyen: (id: string) => ({
    ...{ pspReference: id, eventCode: 'REPORT_AVAILABLE', success: 'true', merchantAccountCode: 'Shop' },
    ...{ merchantReference: 'ref', amount: { value: 0, currency: 'EUR' } },
  }),
} as const

function padded(item: object, bytes: number): object {
  const room = bytes - JSON.stringify({ ...item, details: '' }).length
  return { ...item, details: 'x'.repeat(Math.max(0, room)) }
}

const REAL = [
  ['gocardless', 250, 450],
  ['sendgrid', 1_200, 640],
  ['adyen', 250, 700],
] as const

describe('a delivery of many events', () => {
  it.each(REAL)('of %s with %i events of %i bytes gets its 200 at the first time', async (scheme, count, bytes) => {
    const { ids, document } = batch(scheme, count, bytes)
    expect(await deliver(scheme, sign(scheme, document))).toBe(200)
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(count)
  })

  it.each(REAL)('of %s with %i events of %i bytes is known to another gateway too', async (scheme, count, bytes) => {
    const { ids, document } = batch(scheme, count, bytes)
    const signed = sign(scheme, document)
    for (const to of [0, 1, 0]) expect(await deliver(scheme, signed, to)).toBe(200)
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(count)
  })

  it('takes no other provider its 200, however many come at once', async () => {
    const batches = Array.from({ length: 6 }, () => batch('sendgrid', 1_200, 640))
    const big = batches.map(({ document }) => deliver('sendgrid', sign('sendgrid', document)))
    const small = Array.from({ length: 60 }, (_, index) =>
      deliver('shopify', sign('shopify', { id: index, padding: randomUUID() })),
    )
    expect(new Set(await Promise.all(small))).toEqual(new Set([200]))
    expect(await Promise.all(big)).toEqual(big.map(() => 200))
    const ids = batches.flatMap((one) => one.ids)
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(ids.length)
  })

  it('counts an id that it has twice as one event', async () => {
    const { ids, document } = batch('gocardless', 3, 200)
    const items = (document as { events: object[] }).events
    expect(await deliver('gocardless', sign('gocardless', { events: [...items, ...items] }))).toBe(200)
    const stored = await events.find({ eventId: { $in: ids } }).toArray()
    expect(stored.map(({ deliveries }) => deliveries)).toEqual([1, 1, 1])
    const logged = gateways[0].logs.filter(({ eventId }) => ids.some((id) => id === eventId))
    expect(logged.map(({ msg }) => msg)).toEqual(Array(3).fill('event.unhandled'))
  })

  it.each([
    ['gocardless', 1_001, '1000'],
    ['sendgrid', 5_001, '5000'],
    ['adyen', 251, '250'],
  ] as const)('of %s with %i events is refused', async (scheme, count, most) => {
    const { ids, document } = batch(scheme, count, 1)
    const { status, body } = await send(scheme, sign(scheme, document))
    expect([status, body]).toEqual([400, expect.objectContaining({ code: 'too_many_events' })])
    expect(body.error).toContain(most)
    expect(await events.countDocuments({ eventId: { $in: ids } })).toBe(0)
  })

  it('of adyen with too many events is not authentic when one that is checked is forged', async () => {
    const { document } = batch('adyen', 251, 1)
    const forged = sign('adyen', document)
    const body = Buffer.from(
      Buffer.from(forged.body).toString().replace('"merchantReference":"ref"', '"merchantReference":"other"'),
    )
    expect((await send('adyen', { ...forged, body })).status).toBe(401)
  })

  it('of twilio is an array of CloudEvents, each of which is an event that can be checked again', async () => {
    const ids = Array.from({ length: 50 }, () => `EZ${randomUUID()}`)
    const document = ids.map((id) => ({ id, specversion: '1.0', type: 'com.twilio.error-logs.error.logged', data: {} }))
    for (const to of [0, 1]) expect(await deliver('twilio', sign('twilio', document), to)).toBe(200)
    const stored = await events.find({ provider: 'twilio' }).toArray()
    expect(stored.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted())
    const operator = createOperatorClient(gateways[0].adminUrl, OPERATOR)
    const checked = await operator.events.reverify.query({ id: String(stored[0]?._id) })
    expect(checked).toEqual({ valid: true, secretId: 'only', failure: null })
  })

  it('shows its whole body with each event, which can be checked and read again', async () => {
    const { ids, document } = batch('gocardless', 3, 200)
    const signed = sign('gocardless', document)
    expect(await deliver('gocardless', signed)).toBe(200)
    const operator = createOperatorClient(gateways[1].adminUrl, OPERATOR)
    const records = await events.find({ eventId: { $in: ids } }).toArray()
    for (const id of records.map(({ _id }) => String(_id))) {
      const shown = await operator.events.get.query({ id })
      expect(Buffer.from(shown.raw, 'base64').equals(Buffer.from(signed.body))).toBe(true)
      expect(await operator.events.reverify.query({ id })).toEqual({ valid: true, secretId: 'only', failure: null })
    }

    // As a mapping of another day would have read it.
    const [id = ''] = ids
    await events.updateOne({ eventId: id }, { $set: { type: 'read.before', orderId: 'read before' } })
    const record = await events.findOne({ eventId: id })
    await operator.events.replay.mutate({ ids: [String(record?._id)], reason: 'read it again', includeDone: true })
    const read = async () => (await events.findOne({ eventId: id }))?.type
    await expect.poll(read, { timeout: 20_000 }).toBe('mandates.created')
  })
})
