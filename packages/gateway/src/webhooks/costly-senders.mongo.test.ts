import { createHmac, randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { type ApiAnswers, serveApi } from '@oncehook/webhooks/testing/serve-api'
import { afterAll, describe, expect, it } from 'vitest'
import { startGateway } from '../testing/start-gateway.ts'

const answers: Record<string, ApiAnswers[string]> = {}
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const api = stack.use(await serveApi(answers))
const value = 'a secret of a shop that nobody knows'
const ADYEN_KEY = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'
const providers = {
  shop: { scheme: 'hmac', effects: ['payment.succeeded'], header: 'x-signature', secrets: [{ id: 'only', value }] },
  adyen: { scheme: 'adyen', secrets: [{ id: 'only', value: ADYEN_KEY }] },
  mollie: { scheme: 'mollie-classic', fetch: { baseUrl: `${api.baseUrl}/v2`, token: 'live_key_0001' } },
}
// A window that never ends.
const now = Date.now()
const stopped = { now: () => now }

async function start(settings: Readonly<Record<string, string>>, clock = stopped) {
  const limits = { rateWindowSeconds: 1 }
  return await startGateway({ database, providers, clock, limits, settings: { TRUSTED_PROXY_HOPS: '1', ...settings } })
}

type Gateway = Awaited<ReturnType<typeof start>>

interface Sent {
  readonly address: string
  readonly provider?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
  readonly isChunked?: boolean
}

async function deliver({ url }: Gateway, { address, provider = 'shop', headers = {}, body, isChunked }: Sent) {
  const response = await fetch(`${url}/api/webhooks/${provider}`, {
    method: 'POST',
    headers: { 'x-forwarded-for': address, ...headers },
    ...(isChunked === true ? { body: new Blob([body]).stream(), duplex: 'half' } : { body }),
  })
  await response.arrayBuffer()
  return { status: response.status, policy: response.headers.get('ratelimit-policy') }
}

/** A delivery of the shop, padded to about `bytes` bytes. */
function sentBy(address: string, { bytes = 0, key = value, isChunked = false } = {}): Sent {
  const event = { id: randomUUID(), type: 'payment.succeeded', data: { object: { id: randomUUID() } } }
  const body = JSON.stringify(event) + ' '.repeat(bytes)
  const signature = createHmac('sha256', key).update(body).digest('hex')
  return { address, headers: { 'content-type': 'application/json', 'x-signature': signature }, body, isChunked }
}

/** A payment that Mollie knows. */
function payment(id: string, status = 'open'): string {
  answers[`/v2/payments/${id}`] = [200, { id, status, amount: { value: '1.00', currency: 'EUR' } }]
  return id
}

/** Sends an Adyen delivery of a new payment, signed with a key. */
async function deliverItem(gateway: Gateway, key: string): Promise<number> {
  const pspReference = randomUUID()
  const signed = `${pspReference}::Acme:ord_1:100:EUR:AUTHORISATION:true`
  const hmacSignature = createHmac('sha256', Buffer.from(key, 'hex')).update(signed).digest('base64')
  const item = {
    ...{ pspReference, merchantAccountCode: 'Acme', merchantReference: 'ord_1', eventCode: 'AUTHORISATION' },
    ...{ success: 'true', amount: { value: 100, currency: 'EUR' }, additionalData: { hmacSignature } },
  }
  const body = JSON.stringify({ notificationItems: [{ NotificationRequestItem: item }] })
  const headers = { 'content-type': 'application/json' }
  return (await deliver(gateway, { address: FORGER, provider: 'adyen', headers, body })).status
}

const FORGER = '203.0.113.9'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const forged = { key: 'another key', bytes: 1_000_000 }

describe('an address whose large forgeries have taken 20 ms', () => {
  it('has its large deliveries refused unread, and its small ones looked at', async () => {
    await using gateway = await start({ RATE_LIMIT_FAILED: '100000' })
    let status = 401
    for (let sent = 0; status === 401 && sent < 2_000; sent += 1) {
      const answer = await deliver(gateway, sentBy(FORGER, forged))
      status = answer.status
      if (status === 429) expect(answer.policy).toBe('"work";q=100;w=1')
    }
    expect(status).toBe(429)
    const deliverFrom = async (address: string, form: Parameters<typeof sentBy>[1]) =>
      (await deliver(gateway, sentBy(address, form))).status
    expect(await deliverFrom(FORGER, { bytes: 100_000 })).toBe(429)
    expect(await deliverFrom(FORGER, { isChunked: true })).toBe(429)
    expect(await deliverFrom(FORGER, { bytes: 10_000 })).toBe(200)
    expect(await deliverFrom('203.0.113.10', { bytes: 100_000 })).toBe(200)
    expect(await deliverFrom('203.0.113.10', { bytes: 100_000, isChunked: true })).toBe(200)
  })
})

describe('an address with too many failures', () => {
  const call = async (gateway: Gateway, id: string, address = FORGER): Promise<number> =>
    (await deliver(gateway, { address, provider: 'mollie', headers: FORM, body: `id=${id}` })).status

  it('has what cannot have a signature refused unread', async () => {
    await using gateway = await start({ RATE_LIMIT_FAILED: '3' })
    const statuses: number[] = []
    const before = api.requests.length
    for (let n = 0; n < 5; n += 1) statuses.push(await call(gateway, `tr_made.up.${n}`))
    expect(statuses).toEqual([401, 401, 401, 429, 429])
    expect(api.requests.length - before).toBe(3)
    expect(await call(gateway, payment('tr_other', 'paid'), '198.51.100.1')).toBe(200)
  })

  it('has signatures in the body looked at, as those in a header', async () => {
    await using gateway = await start({ RATE_LIMIT_FAILED: '3' })
    const statuses: number[] = []
    for (let n = 0; n < 5; n += 1) statuses.push(await deliverItem(gateway, 'ff'.repeat(32)))
    expect(statuses).toEqual([401, 401, 401, 429, 429])
    expect(await deliverItem(gateway, ADYEN_KEY)).toBe(200)
  })
})

describe('an address beyond its limit', () => {
  it('leaves one line per second in the log, whatever its port is', async () => {
    await using gateway = await start({ RATE_LIMIT_FAILED: '3' })
    for (let n = 0; n < 20; n += 1) await deliver(gateway, sentBy(`${FORGER}:${40_000 + n}`, { key: 'another key' }))
    const lines = () => gateway.logs.filter(({ msg }) => msg === 'webhook.refused')
    const countOf = (line: Record<string, unknown>): number => Number(line.times ?? 0)
    await expect.poll(() => lines().reduce((sum, line) => sum + countOf(line), 0)).toBe(17)
    expect(lines().filter(({ status }) => status === 401)).toHaveLength(3)
    expect(lines().filter(({ status }) => status === 429)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ address: FORGER, provider: 'shop', reason: 'signature_mismatch' }),
      ]),
    )
    expect(lines().length).toBeLessThan(17)
  })
})

describe('a provider that is asked on a stranger’s word', () => {
  const call = async (gateway: Gateway, id: string, address: string): Promise<number> =>
    (await deliver(gateway, { address, provider: 'mollie', headers: FORM, body: `id=${id}` })).status

  it('is no failure of ours while it cannot be asked', async () => {
    await using gateway = await start({})
    answers['/v2/payments/tr_away'] = [503, {}]
    expect(await call(gateway, 'tr_away', FORGER)).toBe(500)
    const metrics = await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    expect(metrics).toContain('oncehook_deliveries_total{provider="mollie",outcome="not_checked"} 1')
    expect(metrics).not.toContain('outcome="not_stored"')
    expect(gateway.logs.map(({ msg }) => msg)).not.toContain('webhook.failed')
  })

  it('is asked about one thing once a second, however many calls there are', async () => {
    await using gateway = await start({})
    const id = payment('tr_bought', 'paid')
    const [before, startedAt] = [api.requests.length, performance.now()]
    const calls = Array.from({ length: 30 }, () => call(gateway, id, FORGER))
    calls.push(call(gateway, payment('tr_other'), '198.51.100.2'))
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]))
    const seconds = (performance.now() - startedAt) / 1_000
    expect(api.requests.length - before).toBeLessThanOrEqual(3 + Math.floor(seconds))
  })
})
