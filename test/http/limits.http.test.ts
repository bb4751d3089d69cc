import { randomUUID } from 'node:crypto'
import { parseList } from 'structured-headers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HttpAnswer } from '../support/http/http-answer.ts'
import { callTogether, countStatuses, makeOrder, ORDERS, orderContent } from '../support/http/http-orders.ts'
import { type HttpSystem, ORIGIN, startHttpSystem, WEBHOOK } from '../support/http/http-system.ts'

/** The longest possible window, so that a test hardly ever falls into two. */
const ONE_WINDOW = { rateWindowSeconds: 86_400 }
const anEvent = () => ({ id: `evt_${randomUUID()}`, type: 'customer.created', data: { object: { id: 'cus_1' } } })

/** The one limit in an answer, read as structured fields (RFC 9651). */
function limitsOf({ headers }: HttpAnswer) {
  const [limit, ...others] = parseList(headers.ratelimit ?? '')
  const [policy] = parseList(headers['ratelimit-policy'] ?? '')
  expect(others).toEqual([])
  const [name, standing] = limit ?? []
  expect([typeof name, policy?.[0]]).toEqual(['string', name])
  const of = (parameters: ReadonlyMap<string, unknown> | undefined, key: string) => Number(parameters?.get(key))
  return {
    left: of(standing, 'r'),
    seconds: of(standing, 't'),
    quota: of(policy?.[1], 'q'),
    window: of(policy?.[1], 'w'),
  }
}

/** A delivery that is not authentic, from an address. */
function forged(system: HttpSystem, address: string) {
  const { headers, ...rest } = system.delivery(anEvent())
  return { ...rest, headers: { ...headers, 'webhook-signature': 'v1,AAAA', 'x-forwarded-for': address } }
}

/** How many deliveries with another signature the gateway has counted. */
async function mismatches({ adminPort }: HttpSystem): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const counted = /^oncehook_verification_failures_total\{[^}]*reason="signature_mismatch"\} (\d+)$/m.exec(metrics)
  return Number(counted?.[1] ?? 0)
}

const WINDOW_SECONDS = 2

/** A system whose windows begin when the test says so. */
async function startAtWindow() {
  let now = Date.now() - (Date.now() % (WINDOW_SECONDS * 1_000))
  const clock = { now: () => now }
  const limits = { rateWindowSeconds: WINDOW_SECONDS }
  const system = await startHttpSystem({ gateway: { RATE_LIMIT_API: '5' }, limits, clock, fulfilment: { clock } })
  return {
    ...system,
    pass: (seconds: number) => {
      now += seconds * 1_000
    },
  }
}

describe('requests of a principal', () => {
  it('R01 R02 R03 are counted down to a 429, and served again after Retry-After', async () => {
    await using system = await startAtWindow()
    const ask = () => system.call({ target: ORDERS, headers: { origin: ORIGIN } })
    for (let left = 4; left >= 0; left -= 1) {
      const answer = await ask()
      expect(answer.status).toBe(200)
      expect(limitsOf(answer)).toMatchObject({ left, quota: 5, window: WINDOW_SECONDS })
    }
    const refused = await ask()
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
    const { left, seconds } = limitsOf(refused)
    const retryAfter = Number(refused.headers['retry-after'])
    expect([left, retryAfter >= seconds, retryAfter >= 1, Number.isInteger(retryAfter)]).toEqual([0, true, true, true])
    expect(refused.headers['access-control-allow-origin']).toBe(ORIGIN)

    expect((await system.call({ target: ORDERS, principal: 'bob' })).status).toBe(200)
    expect((await system.call({ target: ORDERS, principal: null })).status).toBe(401)
    expect((await system.call({ method: 'OPTIONS', target: ORDERS })).status).toBe(204)
    expect((await system.call({ target: '/healthz' })).status).toBe(200)
    expect((await system.deliver(anEvent())).status).toBe(200)

    system.pass(retryAfter)
    expect((await ask()).status).toBe(200)
  })

  it('R05 a refused request has no effect, and uses no key', async () => {
    await using system = await startAtWindow()
    for (let n = 0; n < 5; n += 1) await system.call({ target: ORDERS })
    const post = { method: 'POST', target: ORDERS, headers: { 'idempotency-key': 'k' }, body: orderContent() }
    expect((await system.call(post)).status).toBe(429)
    expect(await system.fulfilment.db.collection('orders').countDocuments()).toBe(0)
    system.pass(WINDOW_SECONDS)
    const answer = await system.call(post)
    expect(answer.status).toBe(201)
    expect(answer.headers).not.toHaveProperty('idempotent-replayed')
  })
})

describe('in one window', () => {
  const stack = new AsyncDisposableStack()
  afterAll(() => stack.disposeAsync())
  let system: HttpSystem
  beforeAll(async () => {
    const gateway = { RATE_LIMIT_API: '100', RATE_LIMIT_FAILED: '20', TRUSTED_PROXY_HOPS: '1' }
    system = stack.use(await startHttpSystem({ gateway, limits: ONE_WINDOW }))
  })

  it('R04 errors, replays and 304 show the limit of a principal too', async () => {
    const { target, etag } = await makeOrder(system)
    const answers = [
      await system.call({ target, headers: { 'if-none-match': etag } }),
      await system.call({ target: `${ORDERS}/nothing` }),
      await system.call({ method: 'PATCH', target, body: {} }),
      await system.call({ method: 'POST', target: ORDERS, body: '{' }),
      await system.call({ method: 'DELETE', target }),
      await system.call({ method: 'HEAD', target: ORDERS }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([304, 404, 428, 400, 204, 200])
    expect(answers.map((answer) => limitsOf(answer).left)).toEqual([98, 97, 96, 95, 94, 93])
  })

  it('R09 BP-45 a flood of forged ones gets 429; authentic ones get 200, also from the same address', async () => {
    const before = await mismatches(system)
    const flood = callTogether(system, 200, () => forged(system, '203.0.113.7'))
    const genuine = callTogether(system, 30, () => system.delivery(anEvent(), { 'x-forwarded-for': '203.0.113.7' }))
    expect(countStatuses(await genuine)).toEqual({ 200: 30 })
    expect(countStatuses(await flood)).toEqual({ 401: 20, 429: 180 })
    expect(await system.events.countDocuments()).toBe(30)
    // The operator sees all deliveries with a signature, including those that are only asked to retry later.
    await expect.poll(async () => (await mismatches(system)) - before).toBe(200)

    const bare = { method: 'POST', target: WEBHOOK, headers: { 'x-forwarded-for': '203.0.113.7' }, body: '{}' }
    const refused = await system.call(bare)
    expect(refused).toMatchObject({ status: 429, headers: { connection: 'close' } })
    expect(limitsOf(refused)).toMatchObject({ left: 0, quota: 20 })
    expect((await system.call({ ...bare, headers: { 'x-forwarded-for': '203.0.113.8' } })).status).toBe(401)
  })

  it('R10 addresses of one network count together, and no address can be forged', async () => {
    for (let n = 1; n <= 20; n += 1) {
      expect((await system.call(forged(system, `2001:db8:1:2::${n}`))).status).toBe(401)
      expect((await system.call(forged(system, `${n}.made.up, 203.0.113.9`))).status).toBe(401)
    }
    expect((await system.call(forged(system, '2001:db8:1:2:ffff::1'))).status).toBe(429)
    expect((await system.call(forged(system, '2001:db8:1:3::1'))).status).toBe(401)
    expect((await system.call(forged(system, '4.made.up, 203.0.113.9'))).status).toBe(429)
  })
})

it('R11 R12 without a trusted proxy the address is the one of the connection, and each provider has its own limit', async () => {
  await using system = await startHttpSystem({
    gateway: { RATE_LIMIT_FAILED: '2', RATE_LIMIT_PROVIDER: '3' },
    limits: ONE_WINDOW,
  })
  const statuses = []
  for (let n = 1; n <= 3; n += 1) statuses.push((await system.call(forged(system, `203.0.113.${n}`))).status)
  expect(statuses).toEqual([401, 401, 429])

  for (let left = 2; left >= 0; left -= 1) {
    const answer = await system.deliver(anEvent())
    expect([answer.status, limitsOf(answer).left]).toEqual([200, left])
  }
  const refused = await system.deliver(anEvent())
  expect(refused).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
  expect(await system.events.countDocuments()).toBe(3)
})
