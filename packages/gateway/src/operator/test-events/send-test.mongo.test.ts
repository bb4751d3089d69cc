import { createHmac, randomBytes } from 'node:crypto'
import { refusalOf } from '@oncehook/fulfilment/testing/fulfilment-client'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { SCHEMES } from '@oncehook/webhooks/providers'
import { afterAll, describe, expect, it } from 'vitest'
import { simulateProvider } from '../../../../../test/support/providers/simulated-provider.ts'
import type { EventDocument } from '../../inbox/event-document.ts'
import { startHandlerServer } from '../../testing/handlers/handler-server.ts'
import { startGateway } from '../../testing/start-gateway.ts'
import { createOperatorClient, paymentEvent, startOperatedSystem } from '../../testing/start-operated-system.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const system = stack.use(await startOperatedSystem(database))
const operator = system.operator()
const reason = 'to see whether it arrives'
const IS_TEST = { state: 'unhandled', reason: 'test' }

/** What fulfilment has for an order. */
async function statusOf(orderId: string): Promise<unknown> {
  const response = await fetch(`${system.gateway.url}/api/orders/${orderId}`, {
    headers: { authorization: `Bearer ${system.tokens.api}` },
  })
  return ((await response.json()) as { status: unknown }).status
}

/** Waits until an event that was delivered after all others has its effect: by then the others have had theirs. */
async function untilLaterIsPaid(): Promise<void> {
  const [eventId, orderId] = [crypto.randomUUID(), await system.order()]
  expect(await system.deliver(paymentEvent(eventId, { orderId }))).toBe(200)
  await system.until(eventId, ({ state }) => state === 'done')
  expect(await statusOf(orderId)).toBe('paid')
}

/** Posts stored bytes to the public listener, as somebody could who has read them. */
async function postCopy(record: EventDocument): Promise<number> {
  const response = await fetch(`${system.gateway.url}/api/webhooks/${record.provider}`, {
    method: 'POST',
    headers: record.headers,
    body: Buffer.from(record.raw.value()),
  })
  await response.arrayBuffer()
  return response.status
}

describe('events.sendTest', () => {
  it('stores an event that is shown like any other, is marked, and has no effect', async () => {
    const orderId = await system.order()
    const sent = await operator.events.sendTest.mutate({ provider: 'acme', orderId, amount: 300, reason })
    expect(sent).toEqual({ id: expect.any(String), eventId: expect.stringMatching(/^test_[0-9a-f]{32}$/), ...IS_TEST })
    const shown = await operator.events.get.query({ id: sent.id, body: true, reason })
    expect(shown).toMatchObject({ ...IS_TEST, test: true, type: 'payment.succeeded', orderId, secretId: 'newer' })
    expect(shown.headers).not.toHaveProperty('stripe-signature')
    const { valid } = await operator.events.reverify.query({ id: sent.id })
    expect(valid).toBe(true)
    await untilLaterIsPaid()
    expect(await statusOf(orderId)).toBe('pending')
    const { items } = await operator.audit.list.query({ limit: 20 })
    expect(items).toContainEqual(
      expect.objectContaining({
        by: 'alice',
        action: 'events.send-test',
        reason,
        details: expect.objectContaining({ orderId }),
      }),
    )
  })

  it('has no effect by a replay, and keeps its mark', async () => {
    const orderId = await system.order()
    const { id, eventId } = await operator.events.sendTest.mutate({ provider: 'acme', orderId, amount: 300, reason })
    expect(await operator.events.replay.mutate({ ids: [id], reason })).toMatchObject({ matched: 1 })
    const replayed = await system.until(eventId, ({ attempts }) => attempts.length === 1)
    expect(replayed).toMatchObject({ ...IS_TEST, test: true, orderId })
    expect(await statusOf(orderId)).toBe('pending')
  })

  it('has no effect if somebody delivers a copy of it', async () => {
    const orderId = await system.order()
    const { eventId } = await operator.events.sendTest.mutate({ provider: 'acme', orderId, amount: 300, reason })
    expect(await postCopy(await system.record(eventId))).toBe(200)
    await untilLaterIsPaid()
    const found = await system.events.find({ eventId }).sort({ handler: 1 }).toArray()
    expect(found).toMatchObject([
      { handler: '', state: 'unhandled', reason: 'not_expected' },
      { ...IS_TEST, handler: 'fulfilment', test: true },
    ])
    expect(await statusOf(orderId)).toBe('pending')
  })

  it('is found by the filter for tests', async () => {
    const { id } = await operator.events.sendTest.mutate({ provider: 'shop', type: 'payment.failed', reason })
    const real = crypto.randomUUID()
    expect(await system.deliver(paymentEvent(real, { orderId: 'ord_0' }), { provider: 'shop' })).toBe(200)
    const tests = (await operator.events.list.query({ provider: 'shop', test: true })).items
    expect(tests.map((event) => event.id)).toEqual([id])
    const others = (await operator.events.list.query({ provider: 'shop', test: false })).items
    expect(others.map((event) => [event.eventId, event.test])).toEqual([[real, false]])
  })

  it('is refused for an unknown provider, without a reason, and for an id that no order can have', async () => {
    const unknown = operator.events.sendTest.mutate({ provider: 'nobody', reason })
    expect(await refusalOf(unknown)).toMatchObject({ code: 'NOT_FOUND' })
    for (const wrong of [{ reason: '' }, { orderId: '..' }, { orderId: 'a b' }, { orderId: 'a'.repeat(129) }]) {
      const refused = operator.events.sendTest.mutate({ provider: 'acme', reason, ...wrong })
      expect({ wrong, refusal: await refusalOf(refused) }).toMatchObject({ refusal: { code: 'BAD_REQUEST' } })
    }
  })
})

describe('a delivery that calls itself a test', () => {
  it('is none: only the caller inside the gateway can mark an event', async () => {
    const [eventId, orderId] = [`test_${crypto.randomUUID()}`, await system.order()]
    const text = JSON.stringify({ ...paymentEvent(eventId, { orderId, test: true }), test: true, mark: { test: true } })
    const timestamp = Math.floor(Date.now() / 1_000)
    const mac = createHmac('sha256', system.secrets.newer).update(`${timestamp}.${text}`).digest('hex')
    const headers = { 'stripe-signature': `t=${timestamp},v1=${mac}`, test: 'true', 'x-oncehook-test': 'true' }
    const response = await fetch(`${system.gateway.url}/api/webhooks/acme?test=true`, {
      ...{ method: 'POST', body: text },
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'oncehook-test' },
    })
    expect([response.status, await response.json()]).toEqual([200, { received: true }])
    const record = await system.until(eventId, ({ state }) => state === 'done')
    expect(record).not.toHaveProperty('test')
    expect(await statusOf(orderId)).toBe('paid')
  })
})

describe('TEST_EVENTS=apply', async () => {
  const own = stack.use(
    await startOperatedSystem(stack.use(await testDatabase(process.env)), { settings: { TEST_EVENTS: 'apply' } }),
  )
  const client = own.operator()
  const settled = (eventId: string): Promise<EventDocument> =>
    own.until(eventId, ({ state }) => state !== 'pending' && state !== 'processing')

  it('does not let a test event wait for an order while there is none to pay', async () => {
    await own.fulfilment.db.collection('orders').deleteMany({})
    expect(await client.events.testTarget.query()).toEqual({ applies: true, order: null })
    const sent = await client.events.sendTest.mutate({ provider: 'shop', reason })
    expect(sent).toMatchObject(IS_TEST)
  })

  it('lets a test event pay the newest order that is not paid, if none is named', async () => {
    await own.order()
    const orderId = await own.order()
    const target = { applies: true, order: { id: orderId, amountDue: 300, currency: 'EUR' } }
    expect(await client.events.testTarget.query()).toEqual(target)
    const { eventId } = await client.events.sendTest.mutate({ provider: 'shop', reason })
    expect(await settled(eventId)).toMatchObject({
      state: 'done',
      test: true,
      orderId,
      attempts: [{ outcome: 'applied' }],
    })
    const [entry] = (await client.audit.list.query({ limit: 1 })).items
    expect(entry).toMatchObject({ action: 'events.send-test', details: { orderId, amount: 300, currency: 'EUR' } })
  })
})

describe('a test event of every scheme', () => {
  it('is accepted by the verifier, or refused with what to do instead', async () => {
    const place = { publicUrl: 'https://pay.example.com/api/webhooks/p', apiUrl: 'http://127.0.0.1:9', now: Date.now() }
    const made = [...SCHEMES.keys()].map(async (scheme) => {
      const { settings } = await simulateProvider(scheme, {
        ...place,
        apiToken: 'a-token-of-a-provider-api-0123456789',
      })
      return [scheme, settings] as const
    })
    const providers = Object.fromEntries(await Promise.all(made))
    // One operator may send 30 in a minute.
    const tokens = Object.fromEntries(Object.keys(providers).map((name) => [name, randomBytes(24).toString('hex')]))
    await using gateway = await startGateway({
      ...{ database, providers },
      settings: { OPERATOR_TOKENS: JSON.stringify({ ...system.tokens.operators, ...tokens }) },
    })
    const client = createOperatorClient(gateway.adminUrl, system.tokens.operators.alice)
    const listed = await client.providers.list.query()
    const signable = listed.filter(({ takesTests }) => takesTests).map(({ name }) => name)
    const refused = listed.map(({ name }) => name).filter((name) => !signable.includes(name))
    expect(refused.toSorted()).toEqual([
      ...['app-store', 'discord', 'flutterwave', 'mercadopago', 'mollie-classic', 'paypal', 'plaid', 'sendgrid'],
      ...['sns', 'wise'],
    ])
    for (const provider of refused) {
      const refusal = await refusalOf(client.events.sendTest.mutate({ provider, reason }))
      expect({ provider, refusal }).toMatchObject({ provider, refusal: { reason: 'test_event_not_signable' } })
    }
    const sendTwo = async (provider: string, index: number) => {
      const type = index % 2 === 0 ? 'payment.succeeded' : 'payment.failed'
      const operatorOfProvider = createOperatorClient(gateway.adminUrl, tokens[provider] ?? '')
      const ids: string[] = []
      for (const _ of ['one', 'second']) {
        const sent = await operatorOfProvider.events.sendTest.mutate({ provider, type, orderId: 'ord_1', reason })
        expect({ provider, sent }).toMatchObject({ provider, sent: IS_TEST })
        const { orderId } = await client.events.get.query({ id: sent.id })
        expect({ provider, orderId }).toEqual({ provider, orderId: 'ord_1' })
        ids.push(sent.eventId)
      }
      return [provider, ids] as const
    }
    const ids = await Promise.all(signable.map(sendTwo))
    // About the same order, but never the same event: no later event of a provider is mistaken for a copy of a test.
    for (const [provider, [one, second]] of ids) expect([provider, one]).not.toEqual([provider, second])
  })
})

describe('a test event that a handler wants', async () => {
  const database = stack.use(await testDatabase(process.env))
  const events = database.db.collection<EventDocument>(EVENTS)
  const server = stack.use(await startHandlerServer())
  const secrets = [{ id: '1', value: `whsec_${randomBytes(32).toString('base64')}` }]
  const place = { publicUrl: 'https://pay.example.com', apiUrl: 'http://127.0.0.1:9', apiToken: 'x', now: Date.now() }
  const schemes = ['adyen', 'braintree', 'stripe']
  const made = await Promise.all(schemes.map((scheme) => simulateProvider(scheme, place)))
  const gateway = stack.use(
    await startGateway({
      ...{ database, providers: Object.fromEntries(made.map(({ settings }) => [settings.scheme, settings])) },
      settings: {
        OPERATOR_TOKENS: JSON.stringify(system.tokens.operators),
        HANDLERS: JSON.stringify({
          own: { https: `${server.url}/hook`, secrets, events: [{ types: ['*'] }], orderBy: '/data/object/id' },
        }),
      },
    }),
  )
  const client = createOperatorClient(gateway.adminUrl, system.tokens.operators.alice)

  it.each(schemes)('is stored with its mark for the handler too, which never gets a copy: %s', async (provider) => {
    const { id, eventId } = await client.events.sendTest.mutate({ provider, reason })
    const { raw } = await client.events.get.query({ id, body: true, reason })
    const stored = () => events.find({ eventId }).sort({ handler: 1 }).toArray()
    const marked = [
      { ...IS_TEST, handler: 'fulfilment', test: true },
      { ...IS_TEST, handler: 'own', test: true },
    ]
    const records = await stored()
    expect(records).toMatchObject(marked)
    const response = await fetch(`${gateway.url}/api/webhooks/${provider}`, {
      ...{ method: 'POST', body: Buffer.from(raw ?? '', 'base64') },
      // Also those that are not shown, as in a copy of the database.
      headers: records[0]?.headers ?? {},
    })
    await response.arrayBuffer()
    // A signature in the body is not stored.
    expect(response.status).toBe(provider === 'stripe' ? 200 : 401)
    expect(await stored()).toMatchObject(marked)
    expect(server.received).toEqual([])
  })
})

describe('a token that sends test events all the time', () => {
  it('is limited, and others are not', async () => {
    const at = Date.now()
    await using gateway = await startGateway({
      ...{ database, clock: { now: () => at } },
      providers: {
        asked: {
          scheme: 'mollie-classic',
          fetch: { baseUrl: 'http://127.0.0.1:9', token: 'test_0123456789abcdefghij' },
        },
      },
      settings: { OPERATOR_TOKENS: JSON.stringify(system.tokens.operators) },
    })
    const sendAs = (name: 'alice' | 'bob') =>
      refusalOf(
        createOperatorClient(gateway.adminUrl, system.tokens.operators[name]).events.sendTest.mutate({
          ...{ provider: 'asked', reason },
        }),
      )
    for (let sent = 0; sent < 30; sent += 1) expect(await sendAs('alice')).toMatchObject({ httpStatus: 409 })
    expect(await sendAs('alice')).toMatchObject({ httpStatus: 429, reason: 'rate_limited' })
    expect(await sendAs('bob')).toMatchObject({ httpStatus: 409 })
  })
})
