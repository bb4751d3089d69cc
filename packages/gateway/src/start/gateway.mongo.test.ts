import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../inbox/event-document.ts'
import { createFakeFulfilment } from '../testing/fake-fulfilment.ts'
import { hmacProvider } from '../testing/hmac-provider.ts'
import { serveFake } from '../testing/serve-fake.ts'
import { startGateway } from '../testing/start-gateway.ts'

const whsec = (): string => `whsec_${randomBytes(24).toString('base64')}`
const secrets = { acme: whsec(), other: whsec(), shop: randomBytes(20).toString('hex') }
const standard = (value: string) => ({
  scheme: 'standard-webhooks',
  effects: ['payment.succeeded', 'payment.failed'],
  secrets: [{ id: 'only', value }],
})
const providers = {
  acme: standard(secrets.acme),
  other: standard(secrets.other),
  shop: hmacProvider({ id: 'only', value: secrets.shop }),
}
const MAX_BYTES = 4_000

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const fake = createFakeFulfilment()
const served = stack.use(await serveFake(fake))
const gateway = stack.use(
  await startGateway({
    ...{ database, providers, fulfilmentUrl: served.url },
    settings: { MAX_WEBHOOK_BYTES: String(MAX_BYTES), RETRY_BASE_MS: '20', RETRY_CAP_MS: '100' },
  }),
)
const events = database.db.collection<EventDocument>(EVENTS)

type Headers = Readonly<Record<string, string>>

/** The Standard Webhooks headers for a body, signed now. */
function sign(body: Uint8Array | string, secret = secrets.acme): Headers {
  const id = `msg_${randomUUID()}`
  const timestamp = String(Math.floor(Date.now() / 1000))
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` }
}

interface Delivery {
  readonly body?: string | Uint8Array
  readonly headers?: Headers
  /** Default: a signature of the body by acme. */
  readonly signature?: Headers
  readonly path?: string
  readonly method?: string
}

const JSON_TYPE = { 'content-type': 'application/json' }

async function deliver({ body = '', headers = JSON_TYPE, signature, path, method = 'POST' }: Delivery) {
  const response = await fetch(`${gateway.url}${path ?? '/api/webhooks/acme'}`, {
    method,
    headers: { ...(signature ?? sign(body)), ...headers },
    ...(method === 'POST' ? { body: Buffer.from(body) } : {}),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: text === '' ? null : JSON.parse(text) }
}

function eventOf(id: string, members: object = {}): string {
  const object = { id: `pay of ${id}`, order_id: `order of ${id}` }
  return JSON.stringify({ id, type: 'payment.succeeded', data: { object }, ...members })
}

function uniqueId(): string {
  return `evt_${randomUUID()}`
}

/** Checks that a refused delivery has left no trace, and that the next valid delivery succeeds. */
async function expectNoTrace(refuse: () => Promise<unknown>): Promise<void> {
  const before = await events.countDocuments()
  await refuse()
  expect(await events.countDocuments()).toBe(before)
  const id = uniqueId()
  expect(await deliver({ body: eventOf(id, { type: 'customer.created' }) })).toMatchObject({ status: 200 })
  expect(await events.countDocuments({ eventId: id })).toBe(1)
}

const REFUSED = { error: expect.stringMatching(/^[A-Z].*[^.]$/), requestId: expect.any(String) }

describe('a delivery', () => {
  it('is answered with 200 once it is stored, and has its effect', async () => {
    const id = uniqueId()
    fake.orders.set(`order of ${id}`, 1)
    const body = eventOf(id)
    const answer = await deliver({ body })
    expect(answer).toMatchObject({ status: 200, text: '{"received":true}' })
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    const record = await events.findOne({ eventId: id })
    expect(record?.raw.toString()).toBe(body)
    expect(record).toMatchObject({
      provider: 'acme',
      secretId: 'only',
      objectId: `pay of ${id}`,
      orderId: `order of ${id}`,
    })
    await expect.poll(async () => (await events.findOne({ eventId: id }))?.state).toBe('done')
    expect(fake.applied).toContain(id)
    expect(fake.orders.get(`order of ${id}`)).toBe(2)
  })

  it('gets a request id from the answer to the log and to the record; the caller’s id is kept too', async () => {
    const id = uniqueId()
    const clientRequestId = `request-${randomUUID()}`
    const answer = await deliver({ body: eventOf(id), headers: { ...JSON_TYPE, 'x-request-id': clientRequestId } })
    const requestId = answer.headers.get('x-request-id')
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
    expect(await events.findOne({ eventId: id })).toMatchObject({ requestId })
    expect(gateway.logs).toContainEqual(
      expect.objectContaining({ requestId, clientRequestId, msg: 'webhook.recorded', eventId: id }),
    )
  })

  it('BP-27 of an unknown type is stored as unhandled, logged once and has no effect', async () => {
    const id = uniqueId()
    expect((await deliver({ body: eventOf(id, { type: 'customer.created' }) })).status).toBe(200)
    expect(await events.findOne({ eventId: id })).toMatchObject({ state: 'unhandled', reason: 'type_unhandled' })
    expect(gateway.logs.filter(({ eventId, msg }) => eventId === id && msg === 'event.unhandled')).toHaveLength(1)
    expect(fake.calls.flat()).not.toContain(id)
  })

  it('BP-50 with another body under a known id is answered with 200; the first one counts', async () => {
    const id = uniqueId()
    await deliver({ body: eventOf(id, { type: 'customer.created' }) })
    expect((await deliver({ body: eventOf(id, { type: 'customer.deleted' }) })).status).toBe(200)
    await expect.poll(async () => (await events.findOne({ eventId: id }))?.mismatches).toBe(1)
    expect(await events.findOne({ eventId: id })).toMatchObject({ type: 'customer.created', deliveries: 2 })
    const metrics = async () => (await fetch(`${gateway.adminUrl}/metrics`)).text()
    await expect.poll(metrics).toMatch(/oncehook_delivery_mismatches_total\{[^}]*provider="acme"[^}]*\} 1\n/)
  })

  it('BP-32 may be exactly as large as allowed', async () => {
    const id = uniqueId()
    const empty = eventOf(id, { type: 'customer.created', note: '' })
    const body = eventOf(id, { type: 'customer.created', note: 'x'.repeat(MAX_BYTES - empty.length) })
    expect(body).toHaveLength(MAX_BYTES)
    expect((await deliver({ body })).status).toBe(200)
    await expectNoTrace(async () => expect(await deliver({ body: `${body} ` })).toMatchObject({ status: 413 }))
  })
})

describe('what is refused', () => {
  const tooLarge = 'x'.repeat(MAX_BYTES + 1)
  const forged = sign('something else')
  const text = { 'content-type': 'text/plain' }
  const encoded = { ...JSON_TYPE, 'content-encoding': 'gzip' }
  const good = eventOf('never-stored')

  // Each row has the faults of all rows below it. The first fault in this order decides the answer.
  it.each<[number, string, Delivery]>([
    [
      404,
      'not_found',
      { path: '/api/webhooks/nobody', body: tooLarge, headers: { ...text, ...encoded }, signature: forged },
    ],
    [413, 'payload_too_large', { body: tooLarge, headers: { ...text, ...encoded }, signature: forged }],
    [415, 'unsupported_media_type', { body: 'not json', headers: { ...text, ...encoded }, signature: forged }],
    [401, 'signature_invalid', { body: 'not json', headers: text, signature: forged }],
    [415, 'unsupported_media_type', { body: 'not json', headers: text }],
    [400, 'invalid_body', { body: 'not json' }],
    [400, 'event_invalid', { body: '{}' }],
  ])('gets %i %s in the order of the checks, and leaves no trace', async (status, code, delivery) => {
    await expectNoTrace(async () => {
      const answer = await deliver(delivery)
      expect(answer).toMatchObject({ status, json: { ...REFUSED, code } })
      expect(Object.keys(answer.json).sort()).toEqual(['code', 'error', 'requestId'])
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.headers.get('x-request-id')).toBe(answer.json.requestId)
    })
  })

  it.each<[string, Delivery]>([
    ['BP-03 is signed with a wrong secret', { body: good, signature: sign(good, whsec()) }],
    ['BP-04 has one byte changed', { body: good.replace('pay of', 'pay oF'), signature: sign(good) }],
    ['BP-05 is signed over other JSON', { body: good, signature: sign(JSON.stringify(JSON.parse(good), null, 1)) }],
    [
      'BP-15 has half a signature',
      {
        body: good,
        signature: { ...sign(good), 'webhook-signature': sign(good)['webhook-signature']?.slice(0, 25) ?? '' },
      },
    ],
    ['BP-48 is signed by another provider', { body: good, signature: sign(good, secrets.other) }],
    ['BP-48 is signed for another path', { body: good, path: '/api/webhooks/other' }],
    [
      'BP-48 is signed by another scheme',
      { body: good, signature: { 'x-signature': createHmac('sha256', secrets.shop).update(good).digest('hex') } },
    ],
  ])('gets the same 401 as all others when it %s', async (_, delivery) => {
    const reference = await deliver({ body: good, signature: forged })
    await expectNoTrace(async () => {
      const answer = await deliver(delivery)
      expect(answer.status).toBe(401)
      expect(likeness(answer)).toEqual(likeness(reference))
    })
  })

  /** Everything that a sender can see, except the time and the request's id. */
  function likeness({ status, headers, json, text }: Awaited<ReturnType<typeof deliver>>): unknown {
    const { date: _, 'x-request-id': id, ...lasting } = Object.fromEntries(headers)
    return { status, lasting, body: text.replaceAll(json.requestId, 'id'), id: id === json.requestId }
  }
})

describe('while an event cannot be stored', () => {
  it('is answered with 500, and with 200 when it comes again and can be', async () => {
    const id = uniqueId()
    await database.db.command({ collMod: EVENTS, validator: { eventId: { $ne: id } } })
    const refused = await deliver({ body: eventOf(id) })
    expect(refused).toMatchObject({ status: 500, json: { ...REFUSED, code: 'not_stored' } })
    expect(await events.countDocuments({ eventId: id })).toBe(0)
    await database.db.command({ collMod: EVENTS, validator: {} })
    expect((await deliver({ body: eventOf(id) })).status).toBe(200)
    expect(await events.countDocuments({ eventId: id })).toBe(1)
  })
})
