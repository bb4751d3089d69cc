import { createHmac, randomUUID } from 'node:crypto'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { hostileBodies } from '@oncehook/webhooks/testing/hostile-bodies'
import { type ApiAnswers, serveApi } from '@oncehook/webhooks/testing/serve-api'
import { afterAll, describe, expect, it } from 'vitest'
import { startGateway } from '../../testing/start-gateway.ts'

const answers: Record<string, ApiAnswers[string]> = {}
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const api = stack.use(await serveApi(answers))
const value = 'a secret of a shop that nobody knows'
const providers = {
  shop: { scheme: 'hmac', effects: ['payment.succeeded'], header: 'x-signature', secrets: [{ id: 'only', value }] },
  adyen: { scheme: 'adyen', secrets: [{ id: 'only', value: '00112233445566778899aabbccddeeff' }] },
  mollie: { scheme: 'mollie-classic', fetch: { baseUrl: `${api.baseUrl}/v2`, token: 'live_key_0001' } },
}
// A window that never ends.
const now = Date.now()
const stopped = { now: () => now }

async function start(settings: Readonly<Record<string, string>>, clock = stopped, askedPerWindow = 3) {
  const limits = { rateWindowSeconds: 1, askedPerWindow }
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

const FORGER = '203.0.113.9'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const forged = { key: 'another key', bytes: 1_000_000 }

describe('an address whose forgeries have taken a tenth of a second', () => {
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
    expect(await deliverFrom(FORGER, { bytes: 100_000, isChunked: true })).toBe(429)
    expect(await deliverFrom(FORGER, { bytes: 10_000 })).toBe(200)
    expect(await deliverFrom(FORGER, { bytes: 10_000, isChunked: true })).toBe(200)
    expect(await deliverFrom('203.0.113.10', { bytes: 100_000 })).toBe(200)
  })
})

describe('a flood from many addresses, each below its limit', () => {
  it('has a separate line for each of a hundred deliveries per second, and counts the others', async () => {
    let sinceMs = 0
    await using gateway = await start({ RATE_LIMIT_FAILED: '100' }, { now: () => now + sinceMs })
    const startedAt = performance.now()
    const deliverFrom = (n: number) => deliver(gateway, sentBy(`10.1.${n % 250}.1`, { key: 'another key' }))
    for (let from = 0; from < 1_000; from += 50) {
      const sent = await Promise.all(Array.from({ length: 50 }, (_, n) => deliverFrom(from + n)))
      expect(sent.every(({ status }) => status === 401)).toBe(true)
      // However slow the machine is, the strangers have time for the next ones.
      sinceMs += 1_000
    }
    // If a timer is late, its turn is longer, but has no more lines.
    const turns = 1 + Math.ceil((performance.now() - startedAt) / 1_000)
    const lines = () => gateway.logs.filter(({ msg }) => msg === 'webhook.refused')
    await expect.poll(() => lines().reduce((sum, { times }) => sum + Number(times ?? 1), 0)).toBe(1_000)
    expect(lines().filter(({ times }) => times === undefined).length).toBeLessThanOrEqual(100 * turns)
  })
})

describe('many addresses whose forgeries have taken a quarter of a second together', () => {
  it('have the large deliveries of all unknown addresses refused, no small ones, and none of known addresses', async () => {
    await using gateway = await start({ RATE_LIMIT_FAILED: '100000' })
    const deliverFrom = async (address: string, form: Parameters<typeof sentBy>[1]) =>
      await deliver(gateway, sentBy(address, form))
    expect((await deliverFrom('198.51.100.1', {})).status).toBe(200)
    let answer = { status: 401, policy: null as string | null }
    // No single address takes a tenth of a second.
    for (let n = 0; answer.status === 401 && n < 4_000; n += 1) answer = await deliverFrom(`10.0.${n % 250}.1`, forged)
    expect(answer).toEqual({ status: 429, policy: '"strangers";q=250;w=1' })
    expect((await deliverFrom('203.0.113.10', { bytes: 100_000 })).status).toBe(429)
    expect((await deliverFrom('203.0.113.10', { bytes: 100_000, isChunked: true })).status).toBe(429)
    expect((await deliverFrom('198.51.100.1', { bytes: 100_000 })).status).toBe(200)
    expect((await deliverFrom('203.0.113.10', { bytes: 10_000 })).status).toBe(200)
    expect((await deliverFrom('203.0.113.10', { bytes: 100_000 })).status).toBe(200)
  })
})

describe('many addresses whose small forgeries have taken half a second together', () => {
  it('have those of all unknown addresses refused, and none of known addresses', async () => {
    await using gateway = await start({ RATE_LIMIT_FAILED: '100000' })
    const [, costly] =
      hostileBodies(16_000).find(([what]) => what === 'items of Adyen and objects of different names') ?? []
    const body = String(costly)
    const json = { 'content-type': 'application/json' }
    expect((await deliver(gateway, sentBy('198.51.100.1'))).status).toBe(200)
    let answer = { status: 401, policy: null as string | null }
    // The clock does not move, so their time adds up however fast this machine is.
    for (let n = 0; answer.status === 401 && n < 20_000; n += 1) {
      answer = await deliver(gateway, { address: `10.2.${n % 250}.1`, provider: 'adyen', headers: json, body })
    }
    expect(answer).toEqual({ status: 429, policy: '"strangers";q=250;w=1' })
    expect((await deliver(gateway, sentBy('203.0.113.10'))).status).toBe(429)
    expect((await deliver(gateway, sentBy('198.51.100.1'))).status).toBe(200)
  })
})

describe('a provider that shares its address with strangers', () => {
  const call = async (gateway: Gateway, id: string): Promise<number> =>
    (await deliver(gateway, { address: '203.0.113.20', provider: 'mollie', headers: FORM, body: `id=${id}` })).status

  it('is looked at beyond the limit of that address, ten times as often', async () => {
    await using gateway = await start({ RATE_LIMIT_FAILED: '3' })
    expect(await call(gateway, payment('tr_shared.0', 'paid'))).toBe(200)
    for (let n = 0; n < 10; n += 1) await call(gateway, `tr_made.up.shared.${n}`)
    expect(await call(gateway, payment('tr_shared.1', 'paid'))).toBe(200)
    for (let n = 10; n < 40; n += 1) await call(gateway, `tr_made.up.shared.${n}`)
    expect(await call(gateway, payment('tr_shared.2', 'paid'))).toBe(429)
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

  it('is asked up to the limit for each address, and without a limit for one that delivered something new', async () => {
    await using gateway = await start({})
    const before = api.requests.length
    const made = Array.from({ length: 6 }, (_, n) => `tr_made.up.${n}`)
    const statuses: number[] = []
    for (const id of made) statuses.push(await call(gateway, id, FORGER))
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429])
    expect(api.requests.length - before).toBe(3)
    const arrived = payment('tr_arrived', 'paid')
    expect(await call(gateway, arrived, '198.51.100.1')).toBe(200)
    for (let n = 0; n < 8; n += 1) expect(await call(gateway, payment(`tr_real.${n}`), '198.51.100.1')).toBe(200)
  })

  it('counts an object once, however often it is delivered', async () => {
    await using gateway = await start({})
    const id = payment('tr_repeated', 'open')
    for (let n = 0; n < 5; n += 1) expect(await call(gateway, id, FORGER)).toBe(200)
    for (const other of ['tr_second', 'tr_third']) expect(await call(gateway, payment(other, 'open'), FORGER)).toBe(200)
    expect(await call(gateway, payment('tr_fourth', 'open'), FORGER)).toBe(429)
    expect(await call(gateway, id, FORGER)).toBe(200)
  })

  it.each(['open', 'canceled'])(
    'is asked no oftener by one that has only a payment of its own that is %s',
    async (status) => {
      await using gateway = await start({})
      const statuses: number[] = []
      for (let n = 0; n < 5; n += 1)
        statuses.push(await call(gateway, payment(`tr_own.${status}.${n}`, status), FORGER))
      expect(statuses).toEqual([200, 200, 200, 429, 429])
    },
  )

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
    await using gateway = await start({}, stopped, 1_000)
    const id = payment('tr_bought', 'paid')
    const [before, startedAt] = [api.requests.length, performance.now()]
    // More than the questions that strangers may have in progress at once.
    const calls = Array.from({ length: 100 }, () => call(gateway, id, FORGER))
    calls.push(call(gateway, payment('tr_other'), '198.51.100.2'))
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]))
    const seconds = (performance.now() - startedAt) / 1_000
    expect(api.requests.length - before).toBeLessThanOrEqual(3 + Math.floor(seconds))
  })
})
