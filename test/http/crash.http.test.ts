import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { orderContent } from '../support/http/http-orders.ts'
import { type FaultProxy, startFaultProxy } from '../support/stack/fault-proxy.ts'
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
  for (let tries = 0; tries < 600; tries += 1) {
    const told = await request().catch(() => null)
    if (told !== null && ![409, 500, 503].includes(told.status)) return told
    if (told !== null) expect(told.headers.get('retry-after')).toBe('1')
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

const HOUR_MS = 3_600_000

const names = () => ({ key: randomUUID(), customerId: `cus_${randomUUID()}` })

/** A request that a crash interrupts, and what has to be true once the service is back. */
interface Interrupted {
  /** Sends it, the first time and as a retry. */
  readonly request: () => Promise<Told>
  /** Resolves when its message has been lost. */
  readonly struck: Promise<void>
  readonly afterwards: () => Promise<void>
}

type Loss = readonly [why: string, fault: { nth?: number; swallows: 'request' | 'reply'; onKey?: boolean }]

/** A creation that the retry finds done. */
function created([why, fault]: Loss, proxy: FaultProxy): Interrupted {
  const { key, customerId } = names()
  return {
    request: post(key, customerId),
    struck: proxy.strike({ marker: customerId, ...fault }),
    async afterwards() {
      const answer = await sendUntilThrough(post(key, customerId))
      expect(answer.headers.get('idempotent-replayed'), why).toBe('true')
      await expectOneOrder(answer, { key, customerId })
    },
  }
}

/** A creation whose key was taken, and that the retry makes when the lease has expired. */
function keyTaken([why, { onKey, swallows }]: Loss): Interrupted {
  const { key, customerId } = names()
  return {
    request: post(key, customerId),
    struck: beforeDatabase.strike({ marker: onKey ? key : customerId, swallows }),
    async afterwards() {
      // The driver may send a swallowed command once more; the holder of the key is dead in either case.
      const leased = (until: number) =>
        database.collection('idempotency_keys').updateOne({ key }, { $set: { leaseUntil: new Date(until) } })
      await leased(Date.now() + HOUR_MS)
      await expect.poll(async () => (await post(key, customerId)()).status, { message: why }).toBe(409)
      await leased(0)
      const answer = await sendUntilThrough(post(key, customerId))
      expect(answer.headers.get('idempotent-replayed'), why).toBeNull()
      await expectOneOrder(answer, { key, customerId })
    },
  }
}

/** A PUT or PATCH that took effect, and what its retry is told. */
async function changed(method: 'PUT' | 'PATCH', told: readonly [status: number, etag: string]): Promise<Interrupted> {
  const [id, note] = [`o_${randomUUID()}`, randomUUID()]
  await send('PUT', `/${id}`, { body: orderContent() })
  const whole = { body: orderContent({ note }) }
  const part = { headers: { 'if-match': '"1"' }, body: { note } }
  const request = () => send(method, `/${id}`, method === 'PUT' ? whole : part)
  return {
    request,
    struck: beforeDatabase.strike({ marker: note, swallows: 'reply' }),
    async afterwards() {
      const again = await sendUntilThrough(request)
      expect([again.status, again.headers.get('etag')], method).toEqual(told)
      expect((await send('GET', `/${id}`)).text).toContain(note)
    },
  }
}

/** Without fulfilment, all requests for orders are 503 with a Retry-After. */
async function expectUnavailable(): Promise<void> {
  for (const [method, path, options] of [
    ['GET', '/a', {}],
    ['GET', '', {}],
    ['PUT', '/a', { body: orderContent() }],
    ['PATCH', '/a', { headers: { 'if-match': '*' }, body: {} }],
    ['DELETE', '/a', {}],
    ['POST', '', { body: orderContent() }],
  ] as const) {
    const { status, headers, text } = await send(method, path, options)
    expect([status, headers.get('retry-after'), JSON.parse(text).code]).toEqual([503, '1', 'unavailable'])
    expect(text).not.toMatch(/ECONN|fetch|127\.0\.0\.1/)
  }
}

it('kill -9 of fulfilment: wherever it strikes, a retry gets its answer, and there is one effect', async () => {
  const interrupted = [
    created(['after the order was inserted, before it heard of it', { swallows: 'reply' }], beforeDatabase),
    created(['after the answer was stored, before it heard of it', { nth: 2, swallows: 'reply' }], beforeDatabase),
    created(
      ['after the order was inserted, before the answer is stored', { nth: 2, swallows: 'request' }],
      beforeDatabase,
    ),
    keyTaken(['after the key was taken, before it heard of it', { onKey: true, swallows: 'reply' }]),
    keyTaken(['after the key was taken, before the order is inserted', { swallows: 'request' }]),
    await changed('PUT', [200, '"2"']),
    await changed('PATCH', [412, '"2"']),
  ]
  const answers = interrupted.map(({ request }) => request())
  await Promise.all(interrupted.map(({ struck }) => struck))
  await system.fulfilment.kill('SIGKILL')
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(interrupted.map(() => 503))
  await expectUnavailable()
  await system.fulfilment.restart()
  for (const { afterwards } of interrupted) await afterwards()
})

it('kill -9 of the gateway: a retry gets the stored answer, or makes the order', async () => {
  const done = created(['between effect and answer', { swallows: 'reply' }], betweenServices)
  const { key, customerId } = names()
  const struck = betweenServices.strike({ marker: customerId, swallows: 'request' })
  const failures = [done.request, post(key, customerId)].map((request) => failureOf(request()))
  await Promise.all([done.struck, struck])
  await system.gateway.kill('SIGKILL')
  for (const failure of await Promise.all(failures)) expect(failure).toBeInstanceOf(Error)
  await system.gateway.restart()
  await done.afterwards()
  const answer = await sendUntilThrough(post(key, customerId))
  expect(answer.headers.get('idempotent-replayed')).toBeNull()
  await expectOneOrder(answer, { key, customerId })
})

it('a reply that is lost between the services is 503 in time, and the retry gets the stored answer', async () => {
  const { key, customerId } = names()
  void betweenServices.strike({ marker: customerId, swallows: 'reply' })
  const first = await post(key, customerId)()
  expect([first.status, first.headers.get('retry-after')]).toEqual([503, '1'])
  const answer = await sendUntilThrough(post(key, customerId))
  expect(answer.headers.get('idempotent-replayed')).toBe('true')
  await expectOneOrder(answer, { key, customerId })
})
