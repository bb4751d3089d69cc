import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { ORDERS, orderContent } from '../support/http/http-orders.ts'
import { startHttpSystem } from '../support/http/http-system.ts'
import { startFaultProxy } from '../support/stack/fault-proxy.ts'
import { startStack } from '../support/stack/stack.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

// Replies get lost at both proxies: between the services, and between fulfilment and its database.
const betweenServices = stack.use(await startFaultProxy())
const beforeDatabase = stack.use(await startFaultProxy())
const mongoUri = new URL(process.env.TEST_MONGODB_URI ?? '')
beforeDatabase.leadTo(Number(mongoUri.port))
const system = stack.use(
  await startStack({
    gateway: { FULFILMENT_URL: `http://127.0.0.1:${betweenServices.port}` },
    fulfilment: { MONGODB_URI: `mongodb://127.0.0.1:${beforeDatabase.port}/?directConnection=true` },
  }),
)
betweenServices.leadTo(system.place.fulfilmentPort)
const client = stack.use(await new MongoClient(mongoUri.href).connect())
const database = client.db(system.place.fulfilmentDb)

interface Told {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

async function send(method: string, path: string, { headers = {}, body }: { headers?: object; body?: object } = {}) {
  const response = await fetch(`${system.url}/api/orders${path}`, {
    method,
    headers: { authorization: `Bearer ${system.secrets.apiToken}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const told: Told = { status: response.status, headers: response.headers, text: await response.text() }
  return told
}

/** Sends the same request repeatedly, as its answers ask, until it succeeds. */
async function sendUntilThrough(request: () => Promise<Told>): Promise<Told> {
  for (let tries = 0; tries < 60; tries += 1) {
    const told = await request().catch(() => null)
    if (told !== null && ![409, 500, 503].includes(told.status)) return told
    if (told !== null) expect(told.headers.get('retry-after')).toBe('1')
    // A client that repeats a request waits.
    await sleep(100)
  }
  throw new Error('It never got through')
}

const post = (key: string, customerId: string) => () =>
  send('POST', '', { headers: { 'idempotency-key': key }, body: orderContent({ customerId }) })

/** One order, and always the same answer. */
async function expectOneOrder(answer: Told, { key, customerId }: { key: string; customerId: string }): Promise<void> {
  expect(answer.status).toBe(201)
  const again = await post(key, customerId)()
  expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, answer.text, 'true'])
  expect(again.headers.get('etag')).toBe('"1"')
  expect(await database.collection('orders').countDocuments({ customerId })).toBe(1)
  const { id } = JSON.parse(answer.text) as { id: string }
  expect((await send('GET', `/${id}`)).text).toBe(answer.text)
}

/** The reason with which a promise rejects. Watches it from the start, because a killed process may answer any time. */
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

const names = () => ({ key: randomUUID(), customerId: `cus_${randomUUID()}` })

describe('kill -9 of fulfilment', () => {
  it.each([
    ['after the order was inserted, before it heard of it', 1, 'reply'],
    ['after the answer was stored, before it heard of it', 2, 'reply'],
    ['after the order was inserted, before the answer is stored', 2, 'request'],
  ] as const)('%s: the retry gets the answer immediately, and there is one order', async (_, nth, swallows) => {
    const { key, customerId } = names()
    const struck = beforeDatabase.strike({ marker: customerId, nth, swallows })
    const first = post(key, customerId)()
    await struck
    await system.fulfilment.kill('SIGKILL')
    expect((await first).status).toBe(503)
    await system.fulfilment.restart()
    const answer = await sendUntilThrough(post(key, customerId))
    expect(answer.headers.get('idempotent-replayed')).toBe('true')
    await expectOneOrder(answer, { key, customerId })
  })

  it.each([
    ['after the key was taken, before it heard of it', (key: string) => key, 'reply'],
    ['after the key was taken, before the order is inserted', (_: string, customerId: string) => customerId, 'request'],
  ] as const)('%s: the retry makes the order when the lease has expired', async (_, marker, swallows) => {
    const { key, customerId } = names()
    const struck = beforeDatabase.strike({ marker: marker(key, customerId), swallows })
    const first = post(key, customerId)()
    await struck
    await system.fulfilment.kill('SIGKILL')
    expect((await first).status).toBe(503)
    await system.fulfilment.restart()
    // The driver may send a swallowed command once more; the holder of the key is dead in either case.
    await expect.poll(async () => (await post(key, customerId)()).status).toBe(409)
    await database.collection('idempotency_keys').updateOne({ key }, { $set: { leaseUntil: new Date(0) } })
    const answer = await sendUntilThrough(post(key, customerId))
    expect(answer.headers.get('idempotent-replayed')).toBeNull()
    await expectOneOrder(answer, { key, customerId })
  })

  it.each([
    ['PUT', {}, 200],
    ['PATCH', { 'if-match': '"1"' }, 412],
  ] as const)(
    'after a %s took effect: the same again has the tag that it gave, and the version has gone up once',
    async (method, headers, status) => {
      const [id, note] = [`o_${randomUUID()}`, randomUUID()]
      await send('PUT', `/${id}`, { body: orderContent() })
      const body = method === 'PUT' ? orderContent({ note }) : { note }
      const change = () => send(method, `/${id}`, { headers, body })
      const struck = beforeDatabase.strike({ marker: note, swallows: 'reply' })
      const first = change()
      await struck
      await system.fulfilment.kill('SIGKILL')
      expect((await first).status).toBe(503)
      await system.fulfilment.restart()
      const again = await sendUntilThrough(change)
      expect([again.status, again.headers.get('etag')]).toEqual([status, '"2"'])
      expect((await send('GET', `/${id}`)).text).toContain(note)
    },
  )
})

describe('kill -9 of the gateway', () => {
  it.each([
    ['between effect and answer: the retry gets the stored answer, one order', 'reply', 'true'],
    ['before the request reached fulfilment: the retry makes the order', 'request', null],
  ] as const)('%s', async (_, swallows, replayed) => {
    const { key, customerId } = names()
    const struck = betweenServices.strike({ marker: customerId, swallows })
    const first = failureOf(post(key, customerId)())
    await struck
    await system.gateway.kill('SIGKILL')
    expect(await first).toBeInstanceOf(Error)
    await system.gateway.restart()
    const answer = await sendUntilThrough(post(key, customerId))
    expect(answer.headers.get('idempotent-replayed')).toBe(replayed)
    await expectOneOrder(answer, { key, customerId })
  })
})

it('a reply that is lost between the services is 503 in time, and the retry gets the stored answer', async () => {
  await using proxy = await startFaultProxy()
  const gateway = { FULFILMENT_URL: `http://127.0.0.1:${proxy.port}` }
  await using impatient = await startHttpSystem({ gateway, limits: { answerWithinMs: 1_000 } })
  proxy.leadTo(Number(new URL(impatient.fulfilment.url).port))
  const { key, customerId } = names()
  const headers = { 'idempotency-key': key }
  const order = { method: 'POST', target: ORDERS, headers, body: orderContent({ customerId }) }
  void proxy.strike({ marker: customerId, swallows: 'reply' })
  const first = await impatient.call(order)
  expect([first.status, first.headers['retry-after']]).toEqual([503, '1'])
  // On a busy machine a retry may need more than the second.
  await expect
    .poll(() => impatient.call(order))
    .toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } })
  expect(await impatient.fulfilment.db.collection('orders').countDocuments({ customerId })).toBe(1)
})
