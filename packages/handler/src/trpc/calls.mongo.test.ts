import { createTrpcCall } from '@oncehook/gateway/handlers/trpc-call'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { newServiceKeyPair, type ServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { systemClock } from '@oncehook/kernel/time/clock'
import { ObjectId } from 'mongodb'
import { afterEach, describe, expect, it } from 'vitest'
import { createHttpsCall } from '../../../gateway/src/handlers/https-call.ts'
import { type TaskEvent, writeTaskEvent } from '../../../gateway/src/handlers/task-event.ts'
import { readJsonObject } from '../../../webhooks/src/events/json-object.ts'
import { createHandler, type Handler, type HandlerOptions, type LogLine, Refusal } from '../create-handler.ts'
import type { HandlerEvent } from '../handler-event.ts'
import { type LaterTransaction, StoreUnavailable } from '../store.ts'
import { openTestStores } from '../testing/open-test-stores.ts'
import { SECRET, signedHeaders } from '../testing/signed-request.ts'
import type { StoreUnderTest } from '../testing/test-stores.ts'
import type { TrpcOptions } from './trpc-options.ts'

const stores = await openTestStores(process.env)

const opened: Handler[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close(1_000)))
})

const [OWN, OTHER] = [newServiceKeyPair(), newServiceKeyPair()]

const key = readWebhookKey(SECRET)
if (key === null) throw new Error('The secret of the test is invalid')
const SIGNING_KEY = { id: '1', key, notAfter: null }

const RECEIVED_AT = new Date('2026-11-26T10:00:01Z')
const DONE = { done: true }
const UNKNOWN = 'Refused by the handler: refused (The subscription is unknown)'

describe.each(stores.each)('a handler on %s that is called by the gateway', (_, under) => {
  it('has the effect of each event of a call once, however often it is called', async (context) => {
    const store = under(context)
    const { call } = await start(store)
    const tasks = ['each_1', 'each_2', 'each_3'].map((id) => taskOf(id))
    expect(await call(tasks)).toEqual([DONE, DONE, DONE])
    expect(await call(tasks.map((task) => ({ ...task, attempt: 2 })))).toEqual([DONE, DONE, DONE])
    const both = await Promise.all([call([taskOf('each_4')]), call([taskOf('each_4'), taskOf('each_4')])])
    expect(both).toEqual([[DONE], [DONE, DONE]])
    expect(await effectsOf(store, 'each_')).toEqual({ each_1: 1, each_2: 1, each_3: 1, each_4: 1 })
  })

  it('refuses one event of a call, and acts on the others', async (context) => {
    const store = under(context)
    const { call, metrics } = await start(store, {
      async on(event, tx) {
        await store.apply(tx, event.key)
        const [, retry] = /one_(now|later|never)/.exec(event.key) ?? []
        if (retry !== undefined) throw new Refusal(retry as 'now', 'The subscription is unknown', { afterSeconds: 7 })
        if (event.key.includes('one_bug')) throw new Error('A bug')
      },
    })
    const answers = await call(
      ['one_a', 'one_now', 'one_later', 'one_never', 'one_bug', 'one_b'].map((id) => taskOf(id)),
    )
    expect(answers).toMatchObject([
      DONE,
      { refused: 'refused', retry: 'now', message: UNKNOWN, afterMs: 0 },
      { refused: 'refused', retry: 'later', message: UNKNOWN, afterMs: 7_000 },
      { refused: 'refused', retry: 'never', message: UNKNOWN },
      { refused: 'failed', retry: 'later', message: 'Refused by the handler: failed (The event failed)' },
      DONE,
    ])
    expect(await effectsOf(store, 'one_')).toEqual({ one_a: 1, one_b: 1 })
    expect(await metrics()).toContain('oncehook_handler_events_total{handler="billing",result="refused"} 3')
  })

  it('answers without an event that takes long, and finds it done when it comes again', async (context) => {
    const store = under(context)
    const gate = Promise.withResolvers<void>()
    const { call } = await start(store, {
      trpc: { answerMs: 3_000 },
      async on({ key }, tx) {
        if (key.includes('slow_a')) await gate.promise
        await store.apply(tx, key)
      },
    })
    const tasks = [taskOf('slow_a'), taskOf('slow_b')]
    expect(await call(tasks)).toMatchObject([{ refused: 'unfinished', retry: 'later' }, DONE])
    gate.resolve()
    expect(await call(tasks)).toEqual([DONE, DONE])
    expect(await effectsOf(store, 'slow_')).toEqual({ slow_a: 1, slow_b: 1 })
  })

  it('acts on a batch by https as on a call: on each event once, and refuses it alone', async (context) => {
    const store = under(context)
    const { call, callByHttps } = await start(store, {
      async on(event, tx) {
        await store.apply(tx, event.key)
        if (event.key.includes('hook_never')) throw new Refusal('never', 'The subscription is unknown')
        if (event.key.includes('hook_bug')) throw new Error('A bug')
      },
    })
    const tasks = ['hook_a', 'hook_never', 'hook_bug', 'hook_b'].map((id) => taskOf(id))
    const said = [DONE, { refused: 'refused', retry: 'never', message: UNKNOWN }, { refused: 'failed' }, DONE]
    expect(await callByHttps(tasks)).toMatchObject(said)
    expect(await callByHttps(tasks)).toMatchObject(said)
    expect(await call(tasks)).toMatchObject(said)
    expect(await effectsOf(store, 'hook_')).toEqual({ hook_a: 1, hook_b: 1 })
  })

  it('knows an event that came by https, whatever its body looks like', async (context) => {
    const store = under(context)
    const { call, url, lines } = await start(store)
    const raw = Buffer.from('{\n "id": "both_1", "n": 12345678901234567890, "text": "\\u00e9\\/"\n}')
    const tasks = [taskOf('both_1', { raw }), taskOf('both_2', { raw: Buffer.from('no JSON') })]
    for (const { key, json } of tasks) {
      const answer = await fetch(`${url}/webhooks`, { method: 'POST', headers: signedHeaders(key, json), body: json })
      expect(await answer.json()).toEqual({ outcome: 'done', repeated: false })
    }
    expect(await call(tasks)).toEqual([DONE, DONE])
    expect(await call([taskOf('both_1', { raw: Buffer.from('{}') })])).toMatchObject([
      { refused: 'key_conflict', retry: 'never' },
    ])
    expect(lines.map(({ message }) => message)).toEqual(['A key came again with another body'])
    expect(await effectsOf(store, 'both_')).toEqual({ both_1: 1, both_2: 1 })
  })

  it('knows what it has done when a gateway sends it that has lost its record, or reads another type from it', async (context) => {
    const store = under(context)
    const { call, url, lines } = await start(store)
    const raws = [Buffer.from('{ "n": 12345678901234567890, "body": "\\"body\\":" }'), Buffer.from('no JSON')]
    const tasksAt = (receivedAt: Date, type?: string) =>
      raws.map((raw, at) => taskOf(`restored_${at}`, { raw, receivedAt, ...(type === undefined ? {} : { type }) }))
    expect(await call(tasksAt(new Date('2026-11-01T10:00:00Z')))).toEqual([DONE, DONE])
    const again = tasksAt(new Date('2026-11-01T10:05:00Z'), 'invoice.renamed')
    expect(await call(again)).toEqual([DONE, DONE])
    for (const { key, json } of again) {
      const answer = await fetch(`${url}/webhooks`, { method: 'POST', headers: signedHeaders(key, json), body: json })
      expect(await answer.json()).toEqual({ outcome: 'done', repeated: true })
    }
    expect(lines).toEqual([])
    expect(await effectsOf(store, 'restored_')).toEqual({ restored_0: 1, restored_1: 1 })
  })

  it('takes an event of a body that is nested as deeply as the gateway permits, by https and by trpc', async (context) => {
    const store = under(context)
    const { call, url } = await start(store)
    const raw = Buffer.from(`${'{"a":'.repeat(512)}1${'}'.repeat(512)}`)
    expect(readJsonObject(raw)).toBeTypeOf('object')
    const { key, json } = taskOf('deep_1', { raw })
    const answer = await fetch(`${url}/webhooks`, { method: 'POST', headers: signedHeaders(key, json), body: json })
    expect([answer.status, await answer.json()]).toEqual([200, { outcome: 'done', repeated: false }])
    expect(await call([taskOf('deep_2', { raw })])).toEqual([DONE])
    expect(await effectsOf(store, 'deep_')).toEqual({ deep_1: 1, deep_2: 1 })
  })
})

describe('a call', () => {
  const store = stores.onMongo

  it('is accepted with a token that any of the keys signed', async () => {
    const { callWith } = await start(store, { trpc: { publicKeys: OTHER.publicKey + OWN.publicKey } })
    expect(await callWith({ keys: OWN }).call([taskOf('key_1')])).toEqual([DONE])
    expect(await callWith({ keys: OTHER }).call([taskOf('key_2')])).toEqual([DONE])
  })

  it.each<[string, Partial<Caller>]>([
    ['another key', { keys: OTHER }],
    ['another audience', { audience: 'search' }],
    ['another issuer', { issuer: 'somebody' }],
    ['a time that has passed', { now: () => Date.now() - 120_000 }],
    ['a time that has not come', { now: () => Date.now() + 120_000 }],
    ['another body', { change: (body) => `${body} ` }],
    ['another procedure', { procedure: 'events.other' }],
  ])('is refused with a token for %s', async (_, caller) => {
    const { callWith, metrics } = await start(store)
    const { call, statuses } = callWith(caller)
    await expect(call([taskOf('refused_1')])).rejects.toMatchObject({ code: 'unavailable' })
    expect(statuses).toEqual([401])
    expect(await effectsOf(store, 'refused_')).toEqual({})
    expect(await metrics()).toContain('rejected_total{handler="billing",status="401"} 1')
  })

  it.each([
    ['for another handler', '{"handler":"search","events":[{"key":"k","type":"t"}]}'],
    ['without events', '{"handler":"billing","events":[]}'],
    ['with a number as an event', '{"handler":"billing","events":[{"key":"k","type":"t"},7]}'],
    ['with more than 500 events', `{"handler":"billing","events":[${Array.from({ length: 501 }, () => '{}').join()}]}`],
    ['that is no JSON', '{"handler":"billing","events":['],
    ['that is a list', '[]'],
  ])('%s is answered with 400', async (_, body) => {
    const { callWith } = await start(store)
    const { post } = callWith({})
    expect((await post(body)).status).toBe(400)
  })

  it('with events that are not valid refuses only those', async () => {
    const { callWith, metrics } = await start(store)
    const events = [
      '{"type":"invoice.paid"}',
      '{"attempt":1,"key":"odd_1"}',
      '{"key":"odd key","type":"invoice.paid"}',
      '{"key":"odd_2","type":"a","type":"invoice.paid"}',
      `{"key":"odd_2","type":"invoice.paid","attempt":1,"body":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
      '{"key":"odd_3","type":"invoice.paid","attempt":3}',
      '{"key":"odd_3","attempt":4,"type":"invoice.paid"}',
    ]
    const answer = await callWith({}).post(`{"events":[${events.join()}],"handler":"billing"}`)
    const bad = { refused: 'not_an_event', retry: 'never', message: 'The event has no valid key or type' }
    expect(await answer.json()).toEqual({ result: { data: { results: [bad, bad, bad, bad, bad, DONE, DONE] } } })
    expect(await metrics()).toMatch(/rejected_total\{.*status="400"\} 5/)
  })

  it('is answered as a whole while the database is unavailable, so that the gateway waits', async () => {
    const once = async () => Promise.reject(new StoreUnavailable(new Error('The connection was lost')))
    const { callWith } = await start({ ...store, store: { ...store.store, once } })
    const { call, statuses } = callWith({})
    await expect(call([taskOf('away_1'), taskOf('away_2')])).rejects.toMatchObject({ code: 'unavailable' })
    expect(statuses).toEqual([503])
  })

  it('is the only way in for a handler without secrets of Standard Webhooks', async () => {
    const { call, url } = await start(store, { secrets: [] })
    expect(await call([taskOf('only_1')])).toEqual([DONE])
    const answer = await fetch(`${url}/webhooks`, {
      method: 'POST',
      headers: signedHeaders('only_2', '{}'),
      body: '{}',
    })
    expect(answer.status).toBe(404)
  })
})

interface StartOptions extends Partial<Omit<HandlerOptions<LaterTransaction>, 'on' | 'store' | 'trpc'>> {
  readonly on?: (event: HandlerEvent, tx: LaterTransaction) => unknown
  readonly trpc?: Partial<TrpcOptions>
}

async function start(store: StoreUnderTest, { on, trpc, ...options }: StartOptions = {}) {
  const lines: LogLine[] = []
  const act = on ?? (({ key }: HandlerEvent, tx: LaterTransaction) => store.apply(tx, key))
  const { secrets = SECRET, ...others } = options
  const handler = createHandler({
    ...{ name: 'billing', waitMs: 30_000, ...others, store: store.store },
    ...(secrets.length === 0 ? {} : { secrets }),
    on: { 'invoice.paid': act },
    trpc: { publicKeys: OWN.publicKey, ...trpc },
    log: (line) => lines.push(line),
  })
  opened.push(handler)
  const url = `http://127.0.0.1:${await handler.listen(0)}`
  const callWith = (caller: Partial<Caller>) => callerOf(`${url}/trpc`, caller)
  const callByHttps = createHttpsCall({
    ...{
      handler: 'billing',
      isBatched: true,
      fetch,
      clock: systemClock,
      timeoutMs: 10_000,
      now: () => performance.now(),
    },
    place: { by: 'https', url: new URL(`${url}/webhooks`), keys: [SIGNING_KEY], mayBePrivate: false },
  })
  return { handler, url, lines, callWith, call: callWith({}).call, callByHttps, metrics: () => handler.metrics() }
}

/** How a caller differs from the gateway. */
interface Caller {
  readonly keys: ServiceKeyPair
  readonly audience: string
  readonly issuer: string
  readonly now: () => number
  /** Changes the body after its token was made. */
  readonly change: (body: string) => string
  readonly procedure: string
}

/** The calls as the gateway makes them, with its own code. */
function callerOf(url: string, caller: Partial<Caller>) {
  const { keys = OWN, audience = 'billing', issuer = 'gateway' } = caller
  const { now = systemClock.now, change = (body) => body, procedure } = caller
  const issuing = testServiceTokens(keys, { issuer, audience, clock: { ...systemClock, now } })
  const tokens: typeof issuing = { issue: (call) => issuing.issue({ ...call, procedure: procedure ?? call.procedure }) }
  const statuses: number[] = []
  const call = createTrpcCall({
    ...{ handler: 'billing', url: new URL(url), tokens, timeoutMs: 10_000, now: () => performance.now() },
    async fetch(address, init) {
      const response = await fetch(address, { ...init, body: change(String(init.body)) })
      statuses.push(response.status)
      return response
    },
  })
  return {
    call,
    statuses,
    async post(body: string): Promise<Response> {
      const token = await tokens.issue({ procedure: 'events.handle', input: body })
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
      return fetch(`${url}/events.handle`, { method: 'POST', headers, body })
    },
  }
}

/** A task as the gateway writes it. */
function taskOf(
  id: string,
  { type = 'invoice.paid', raw = Buffer.from('{}'), receivedAt = RECEIVED_AT } = {},
): TaskEvent {
  const claim = {
    ...{ _id: new ObjectId(), provider: 'stripe', handler: 'billing', claim: 'c', endsAt: 0 },
    ...{ starts: 1, lost: 0, failures: 0 },
    ...{ waited: 0, waitedFor: null, eventId: id },
    record: { type, objectId: `sub_of_${id}`, orderId: '', facts: { occurredAt: '2026-11-26T10:00:00Z' } },
  }
  return writeTaskEvent(claim, 'billing', { receivedAt, attempt: 1, raw })
}

/** How many effects each event whose id starts like this has had, by its id. */
async function effectsOf(store: StoreUnderTest, start: string): Promise<Record<string, number>> {
  const all = Object.entries(await store.effects()).map(([key, count]) => [key.split(':')[1] ?? '', count] as const)
  return Object.fromEntries(all.filter(([id]) => id.startsWith(start)))
}
