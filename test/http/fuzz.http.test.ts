import { randomBytes, randomUUID } from 'node:crypto'
import { unauthenticated } from '@oncehook/kernel/http/error-codes'
import type { ServiceTokenVerifier } from '@oncehook/kernel/secrets/service-token'
import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { makeOrder, ORDERS, orderContent } from '../support/http/http-orders.ts'
import { startHttpSystem, WEBHOOK } from '../support/http/http-system.ts'
import { exchangeOctets } from '../support/http/raw-http.ts'
import { type FuzzSoil, strangeRequests } from './fuzz-requests.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const operator = randomBytes(24).toString('hex')
// A service token is bound to its call and would let no strange request through: here, any token is good for any call.
const anyCall = 'Bearer any'
const verifyToken: ServiceTokenVerifier = async (authorization) => {
  if (authorization?.startsWith('Bearer ') !== true) throw unauthenticated()
  return {
    id: randomUUID(),
    issuer: 'gateway',
    subject: null,
    checkProcedure() {},
    checkInput() {},
    checkCondition() {},
  }
}
const system = stack.use(
  await startHttpSystem({ gateway: { OPERATOR_TOKENS: JSON.stringify({ operator }) }, fulfilment: { verifyToken } }),
)

/** Another `FUZZ_SEED` makes other requests. */
const seed = Number(process.env.FUZZ_SEED ?? 1)
const REQUESTS = 1_600
const TOGETHER = 200
// Many requests are incomplete, and each batch waits for them: the three listeners at the same time.
const PATIENCE_MS = 400

const INNER =
  /\bat .+:\d+:\d+|node_modules|\.ts:\d|node:internal|mongodb|MongoServer|E11000|ECONN|<html|TRPCError|ZodError/i
const ANSWERS = /HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n([\s\S]*?)\r\n\r\n/g

/** The fault of an answer, whatever was sent; null if there is none. */
function faultOf(octets: Buffer): string | null {
  const text = octets.toString('latin1')
  if (text !== '' && !/^HTTP\/1\.1 \d{3} /.test(text)) return 'no status line'
  if (!text.startsWith('HTTP/1.1 200 ') && INNER.test(text)) return 'shows its insides'
  for (const [, status, head = ''] of text.matchAll(ANSWERS)) {
    if (['500', '502', '503', '504'].includes(status ?? '')) return `status ${status}`
    if (/^X-Powered-By:|^Server:/im.test(head)) return 'names its software'
    if (Number(status) >= 400 && !/^Content-Type: application\/(?:problem\+)?json/im.test(head))
      return 'an error without JSON'
  }
  return null
}

async function expectAlive(): Promise<void> {
  const event = { id: `evt_${randomUUID()}`, type: 'x', data: { object: { id: 'x' } } }
  expect((await system.deliver(event)).status).toBe(200)
  expect((await system.call({ target: ORDERS })).status).toBe(200)
  const failed = system.lines.filter(({ msg }) => msg === 'request.failed' || msg === 'webhook.failed')
  expect(failed).toEqual([])
  const internal = system.lines.filter(({ status }) => status === 500)
  expect(internal).toEqual([])
}

/** Sends strange requests, many at a time. Checks every answer, and the services in between. */
async function fuzz(port: number, soil: FuzzSoil): Promise<void> {
  const requests = fc.sample(strangeRequests(soil), { seed, numRuns: REQUESTS })
  for (let at = 0; at < requests.length; at += TOGETHER) {
    const batch = requests.slice(at, at + TOGETHER)
    const exchanges = batch.map(async (sent) => ({
      sent,
      ...(await exchangeOctets(port, sent.toString('latin1'), PATIENCE_MS)),
    }))
    const faults = (await Promise.all(exchanges)).flatMap(({ sent, octets }) => {
      const fault = faultOf(octets)
      return fault === null ? [] : [{ fault, sent: sent.toString('latin1'), answer: octets.toString('latin1') }]
    })
    expect(faults).toEqual([])
    await expectAlive()
  }
}

const bodies = [JSON.stringify(orderContent()), '{"note":null}', '{}', '{"id":"a","order":{}}', '{"ifMatch":"*"}', '[]']

it.concurrent(`no request to the public listener harms it or shows its insides (seed ${seed})`, async () => {
  const { id, target } = await makeOrder(system)
  const event = { id: 'evt_fuzz', type: 'payment.succeeded', data: { object: { id: 'p', orderId: id } } }
  const authorization = /authorization: (.*)\r\n/.exec(system.write({ target }).toString())?.[1] ?? ''
  await fuzz(system.port, {
    targets: [target, ORDERS, `${ORDERS}/`, WEBHOOK, '/healthz', '/api/openapi.json', '*', '/', `http://a${target}`],
    authorization,
    bodies,
    good: [
      system.write({ target, headers: { 'if-none-match': '"7"' } }),
      system.write({
        method: 'PUT',
        target,
        headers: { 'if-match': '*' },
        body: orderContent({ metadata: { a: 'b' } }),
      }),
      system.write({ method: 'PATCH', target, headers: { 'if-match': '*' }, body: { note: 'é' } }),
      system.write({ method: 'POST', target: ORDERS, headers: { 'idempotency-key': '"k"' }, body: orderContent() }),
      system.write({ target: `${ORDERS}?limit=2&status=paid&after=1.a` }),
      system.write({
        method: 'OPTIONS',
        target,
        headers: { origin: 'https://a', 'access-control-request-method': 'PUT' },
      }),
      system.write(system.delivery(event)),
    ],
  })
})

it.concurrent(`no request to fulfilment harms it or shows its insides (seed ${seed})`, async () => {
  const { id } = await makeOrder(system)
  const call = (target: string, body?: object) =>
    system.write({
      method: body === undefined ? 'GET' : 'POST',
      target,
      headers: { authorization: anyCall },
      ...(body ? { body } : {}),
    })
  const input = encodeURIComponent(JSON.stringify({ id }))
  const event = { provider: 'a', eventId: 'e', type: 'payment.succeeded', paymentId: 'p', orderId: id, ifMatch: '*' }
  await fuzz(Number(new URL(system.fulfilment.url).port), {
    targets: [
      '/trpc/orders.get',
      '/trpc/orders.put',
      '/trpc/orders.create',
      '/trpc/payments.applyEvents',
      '/trpc/',
      '/livez',
      '/metrics',
    ],
    authorization: anyCall,
    bodies: [...bodies, JSON.stringify({ id, order: orderContent() }), JSON.stringify({ events: [event] })],
    good: [
      call(`/trpc/orders.get?input=${input}`),
      call('/trpc/orders.put', { id, order: orderContent(), ifMatch: '*' }),
      call('/trpc/orders.patch', { id, patch: { note: 'x' }, ifMatch: '"1"' }),
      call('/trpc/payments.applyEvents', { events: [event] }),
      call(`/trpc/orders.list?input=${encodeURIComponent('{"limit":1}')}`),
    ],
  })
})

it.concurrent(`no request to the admin listener harms it or shows its insides (seed ${seed})`, async () => {
  const authorization = `Bearer ${operator}`
  const call = (target: string, body?: object) =>
    system.write({
      method: body === undefined ? 'GET' : 'POST',
      target,
      headers: { authorization },
      ...(body ? { body } : {}),
    })
  await fuzz(system.adminPort, {
    targets: ['/operator/events.list', '/operator/events.replay', '/operator/overview', '/', '/livez', '/metrics'],
    authorization,
    bodies: [...bodies, '{"ids":["a"],"reason":"because"}', '{"filter":{},"reason":"because","dryRun":true}'],
    good: [
      call(`/operator/events.list?input=${encodeURIComponent('{"limit":1,"state":"done"}')}`),
      call('/operator/events.replay', { filter: { provider: 'acme' }, reason: 'because', dryRun: true }),
      call(`/operator/audit.list?input=${encodeURIComponent('{"limit":1}')}`),
    ],
  })
})
