import { randomBytes, randomUUID, sign } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { makeDevelopmentSecret } from '@oncehook/simulator/development-secret'
import { forgeChecksum } from '@oncehook/webhooks/testing/forge-checksum'
import { type ApiAnswers, serveApi } from '@oncehook/webhooks/testing/serve-api'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { TRANSMISSIONS } from '../../inbox/transmissions.ts'
import { type RunningGateway, startGateway } from '../../testing/start-gateway.ts'
import { createOperatorClient } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const events = database.db.collection<EventDocument>(EVENTS)
const { signWith, value, gatewaySettings } = await makeDevelopmentSecret('paypal', Date.now())
const secrets = [{ id: 's1', value }]
const pal = { scheme: 'paypal', ...gatewaySettings, secrets }
const OPERATOR = randomBytes(24).toString('hex')
const settings = { OPERATOR_TOKENS: JSON.stringify({ tests: OPERATOR }) }
const start = async () => stack.use(await startGateway({ database, providers: { pal }, settings }))
const [one, other] = [await start(), await start()]

type Headers = Record<string, string>

/** What PayPal signs of a body that it sends now. */
function transmit(body: Buffer, id: string = randomUUID(), at = Date.now()): Headers {
  const time = `${new Date(at).toISOString().slice(0, 19)}Z`
  const text = Buffer.from([id, time, value, crc32(body)].join('|'))
  return {
    'paypal-transmission-id': id,
    'paypal-transmission-time': time,
    'paypal-transmission-sig': sign('sha256', text, signWith).toString('base64'),
    'paypal-cert-url': 'https://api-m.paypal.com/v1/notifications/certs/CERT-1',
    'paypal-auth-algo': 'SHA256withRSA',
  }
}

interface Claim {
  readonly id?: string
  readonly orderId?: string
  readonly value?: string
}

function payment({ id = `WH-${randomUUID()}`, orderId = 'ord_1', value: amount = '1.00' }: Claim = {}) {
  const resource = { id: `cap_${id}`, amount: { currency_code: 'EUR', value: amount }, custom_id: orderId }
  return JSON.stringify({ id, event_type: 'PAYMENT.CAPTURE.COMPLETED', resource, note: 'a'.repeat(64) })
}

async function deliver({ url }: RunningGateway, body: Buffer, headers: Headers): Promise<number> {
  const sent = { ...headers, 'content-type': 'application/json' }
  const response = await fetch(`${url}/api/webhooks/pal`, { method: 'POST', body, headers: sent })
  await response.arrayBuffer()
  return response.status
}

describe('a transmission of PayPal', () => {
  it('counts with the body that came first: another body with its checksum is refused at every gateway, also after a restart', async () => {
    const genuine = Buffer.from(payment())
    const headers = transmit(genuine)
    const forged = forgeChecksum(genuine, payment({ id: 'WH-forged', orderId: 'ord_expensive', value: '9999.00' }))
    expect(crc32(forged)).toBe(crc32(genuine))
    expect(await deliver(one, genuine, headers)).toBe(200)
    const third = await start()
    for (const gateway of [one, other, third]) expect(await deliver(gateway, forged, headers)).toBe(401)
    expect(await events.countDocuments({ eventId: 'WH-forged' })).toBe(0)
    const alarm = { level: 'error', msg: 'webhook.transmission-reused', provider: 'pal' }
    for (const { logs } of [one, other, third]) expect(logs).toContainEqual(expect.objectContaining(alarm))
    const metrics = await (await fetch(`${third.adminUrl}/metrics`)).text()
    expect(metrics).toContain('oncehook_transmissions_reused_total{provider="pal"} 1')
  })

  it('may be rendered and signed again by PayPal itself, under the same id', async () => {
    const [id, eventId] = [randomUUID(), `WH-${randomUUID()}`]
    const body = payment({ id: eventId })
    const rendered = Buffer.from(JSON.stringify(JSON.parse(body), null, 2))
    expect(await deliver(one, Buffer.from(body), transmit(Buffer.from(body), id))).toBe(200)
    for (const gateway of [one, other]) expect(await deliver(gateway, rendered, transmit(rendered, id))).toBe(200)
    expect(await events.countDocuments({ eventId })).toBe(1)
  })

  it('is refused with another body of the same checksum, whichever of its signatures was intercepted', async () => {
    const id = randomUUID()
    const genuine = Buffer.from(payment())
    const rendered = Buffer.from(JSON.stringify(JSON.parse(genuine.toString()), null, 2))
    // The first try did not arrive, but was caught.
    const caught = [transmit(genuine, id, Date.now() - 60_000), transmit(genuine, id)]
    expect(await deliver(one, genuine, transmit(genuine, id))).toBe(200)
    const forged = forgeChecksum(genuine, payment({ id: 'WH-forged-try' }))
    for (const headers of caught) expect(await deliver(other, forged, headers)).toBe(401)
    expect(await deliver(one, rendered, transmit(rendered, id))).toBe(200)
    const forgedAnew = forgeChecksum(rendered, payment({ id: 'WH-forged-try' }))
    expect(await deliver(other, forgedAnew, transmit(rendered, id))).toBe(401)
    expect(await events.countDocuments({ eventId: 'WH-forged-try' })).toBe(0)
  })

  it('lets one of two bodies in that come at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const first = Buffer.from(payment())
      const second = forgeChecksum(first, payment())
      const headers = transmit(first)
      const statuses = await Promise.all([
        ...[one, other].map((gateway) => deliver(gateway, first, headers)),
        ...[one, other].map((gateway) => deliver(gateway, second, headers)),
      ])
      expect(statuses.toSorted()).toEqual([200, 200, 401, 401])
    }
  })

  it('adds nothing to the records of events, and is removed when its signature is no longer valid', async () => {
    const body = Buffer.from(payment())
    const id = randomUUID()
    await deliver(one, body, transmit(body, id))
    const stored = await database.db
      .collection<{ _id: string; expireAt: Date }>(TRANSMISSIONS)
      .findOne({ _id: `pal:${id}:${crc32(body)}` })
    const days = ((stored?.expireAt.getTime() ?? 0) - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(30)
    expect(days).toBeLessThan(32)
  })

  it('is shown to operators without its signature, and can still be checked again', async () => {
    const body = Buffer.from(payment())
    await deliver(one, body, transmit(body))
    const { id: eventId } = JSON.parse(body.toString()) as { id: string }
    const record = await events.findOne({ eventId })
    const operator = createOperatorClient(one.adminUrl, OPERATOR)
    const shown = await operator.events.get.query({ id: String(record?._id), body: true })
    expect(shown.headers).toHaveProperty('paypal-transmission-id')
    expect(JSON.stringify(shown)).not.toContain(record?.headers['paypal-transmission-sig'])
    expect(await operator.events.reverify.query({ id: String(record?._id) })).toMatchObject({ valid: true })
  })
})

describe('a certificate that cannot be fetched', () => {
  it('is 500 not_checked, wakes nobody, and counts against the address', async () => {
    const fetches: string[] = []
    const gateway = stack.use(
      await startGateway({
        database,
        providers: { pal: { scheme: 'paypal', secrets } },
        settings: { RATE_LIMIT_FAILED: '4' },
        limits: { rateWindowSeconds: 86_400 },
        fetch: async (url) => {
          // Fulfilment is called by the same function.
          if (String(url).includes('paypal.com')) fetches.push(String(url))
          throw new Error('getaddrinfo ENOTFOUND')
        },
      }),
    )
    const body = Buffer.from('{}')
    const statuses: number[] = []
    for (let n = 0; n < 6; n += 1) statuses.push(await deliver(gateway, body, transmit(body)))
    expect(statuses).toEqual([500, 500, 500, 500, 429, 429])
    expect(fetches).toHaveLength(3)
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(metrics).toContain('oncehook_deliveries_total{provider="pal",outcome="not_checked"} 3')
    expect(metrics).toContain('oncehook_deliveries_total{provider="pal",outcome="asked_in_vain"} 1')
    expect(metrics).not.toContain('outcome="not_stored"')
    expect(gateway.logs.map(({ msg }) => msg)).not.toContain('webhook.failed')
    expect(gateway.logs).toContainEqual(expect.objectContaining({ msg: 'webhook.refused', code: 'not_checked' }))
  })
})

describe('PayPal with fetch', () => {
  const real = JSON.parse(payment({ id: 'WH-real', orderId: 'ord_real', value: '5.00' })) as object
  const token = { access_token: 'A21AAF', token_type: 'Bearer', expires_in: 32_400 }
  const path = '/v1/notifications/webhooks-events/'

  it('only the copy that PayPal returns has an effect', async () => {
    await using api = await serveApi({ '/v1/oauth2/token': [200, token], [`${path}WH-real`]: [200, real] })
    const providers = { pal: { ...pal, fetch: { baseUrl: api.baseUrl, token: 'client:secret' } } }
    const gateway = stack.use(await startGateway({ database, providers }))
    const lie = Buffer.from(payment({ id: 'WH-real', orderId: 'ord_expensive', value: '9999.00' }))
    expect(await deliver(gateway, lie, transmit(lie))).toBe(200)
    expect(await events.findOne({ eventId: 'WH-real' })).toMatchObject({ orderId: 'ord_real', facts: { amount: 500 } })
    const unknown = Buffer.from(payment({ id: 'WH-unknown' }))
    expect(await deliver(gateway, unknown, transmit(unknown))).toBe(401)
    const { requests } = api
    const basic = `Basic ${Buffer.from('client:secret').toString('base64')}`
    expect(requests.map(({ path: asked }) => asked)).toEqual([
      '/v1/oauth2/token',
      `${path}WH-real`,
      `${path}WH-unknown`,
    ])
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([basic, 'Bearer A21AAF', 'Bearer A21AAF'])
  })

  it('makes no call to PayPal for a transmission that came with another body before, at any gateway', async () => {
    const genuine = payment({ id: 'WH-bound' })
    await using api = await serveApi({
      ...{ '/v1/oauth2/token': [200, token], [`${path}WH-real`]: [200, real] },
      [`${path}WH-bound`]: [200, JSON.parse(genuine)],
    })
    const providers = { pal: { ...pal, fetch: { baseUrl: api.baseUrl, token: 'client:secret' } } }
    const gateways = await Promise.all([1, 2].map(() => startGateway({ database, providers })))
    for (const gateway of gateways) stack.use(gateway)
    const [first = one] = gateways
    const body = Buffer.from(genuine)
    const headers = transmit(body)
    expect(await deliver(first, body, headers)).toBe(200)
    const asked = api.requests.length
    const forged = forgeChecksum(body, payment({ id: 'WH-real', orderId: 'ord_expensive' }))
    for (const gateway of gateways) expect(await deliver(gateway, forged, headers)).toBe(401)
    expect(api.requests).toHaveLength(asked)
  })

  it('stores nothing while PayPal refuses the credentials or the token, or gives none, and asks to be sent the event again', async () => {
    const answers: Record<string, ApiAnswers[string]> = {}
    await using api = await serveApi(answers)
    const providers = { pal: { ...pal, fetch: { baseUrl: api.baseUrl, token: 'client:secret' } } }
    const gateway = stack.use(await startGateway({ database, providers }))
    for (const answer of [
      [401, { error: 'invalid_client' }],
      [200, {}],
      [200, token],
    ] as const) {
      const id = `WH-${randomUUID()}`
      const body = Buffer.from(payment({ id }))
      answers['/v1/oauth2/token'] = answer
      answers[`${path}${id}`] = [401, {}]
      expect(await deliver(gateway, body, transmit(body))).toBe(500)
      expect(await events.countDocuments({ eventId: id })).toBe(0)
    }
    expect(JSON.stringify(gateway.logs)).not.toMatch(/A21AAF|Basic/)
    // With a token, it asks twice at most.
    expect(api.requests.length).toBeLessThanOrEqual(2 + 4)
  })
})
