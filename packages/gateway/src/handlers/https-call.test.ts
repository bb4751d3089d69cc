import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { systemClock } from '@oncehook/kernel/time/clock'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { createGuardedFetch } from './guarded-fetch.ts'
import { createHttpsCall, readRetryAfter } from './https-call.ts'
import type { CallHandler } from './task-event.ts'

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const key = readWebhookKey(SECRET)
if (key === null) throw new Error('The secret of the test is invalid')
const KEYS = [{ id: '1', key, notAfter: null }]
const TASK = { key: 'shop:evt_1:billing', attempt: 1, json: '{}' }
const DONE = { done: true }

type Answer = (response: ServerResponse, request: IncomingMessage, body: string) => void

/** A handler that answers every call in one way, and the calls to it. */
async function setUp(answer: Answer, { timeoutMs = 10_000, keys = KEYS, isBatched = false } = {}) {
  let connections = 0
  const server = createServer(async (request, response) => answer(response, request, await text(request)))
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`)
  const call: CallHandler = createHttpsCall({
    place: { by: 'https', url, keys, mayBePrivate: false },
    fetch: createGuardedFetch({ lookup: () => Promise.reject(new Error('There is no name')), mayBePrivate: false }),
    ...{ handler: 'billing', isBatched, clock: systemClock, timeoutMs, now: () => performance.now() },
  })
  return {
    connections: () => connections,
    send: async (task = TASK) => (await call([task]))[0],
    sendAll: (keys: string) => call(Array.from(keys, (key) => ({ key, attempt: 2, json: JSON.stringify({ key }) }))),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends a piece of the body now and then, and never ends it. */
function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'), 20)
  response.on('close', () => clearInterval(timer))
}

const BODIES: readonly (readonly [string, (status: number) => Answer])[] = [
  [
    'ends too soon',
    (status) => (response) => {
      response.writeHead(status, { 'content-length': '10' })
      response.write('xx', () => setTimeout(() => response.destroy(), 20))
    },
  ],
  [
    'is no gzip although its header says so',
    (status) => (response) => response.writeHead(status, { 'content-encoding': 'gzip' }).end('no gzip'),
  ],
  [
    'comes in small pieces without an end',
    (status) => (response) => {
      response.writeHead(status).flushHeaders()
      drip(response)
    },
  ],
  ['never begins', (status) => (response) => response.writeHead(status, { 'content-length': '10' }).flushHeaders()],
  ['is long', (status) => (response) => response.writeHead(status).end('x'.repeat(1_000_000))],
]

describe.concurrent('createHttpsCall', () => {
  it.each(BODIES)('takes the status of an answer whose body %s', async (_, answer) => {
    await using done = await setUp(answer(200))
    await using never = await setUp(answer(410))
    expect(await done.send()).toEqual(DONE)
    expect(await never.send()).toMatchObject({ refused: 'handler_refused', retry: 'never' })
  })

  it('closes the connection of an answer that does not end, long before the time of a call is over', async () => {
    const closed = Promise.withResolvers<void>()
    const answer: Answer = (response) => drip(response.writeHead(200).on('close', closed.resolve))
    await using handler = await setUp(answer, { timeoutMs: 3_600_000 })
    expect(await handler.send()).toEqual(DONE)
    await closed.promise
  })

  it('uses the connection again after a short body', async () => {
    await using handler = await setUp((response) => response.end('{"ok":true}'))
    for (let times = 0; times < 10; times += 1) expect(await handler.send()).toEqual(DONE)
    // The next call can come a moment before the connection is free.
    expect(handler.connections()).toBeLessThan(5)
  })

  it('knows nothing if no answer begins in time, or the connection breaks before', async () => {
    await using silent = await setUp(() => undefined, { timeoutMs: 100 })
    await expect(silent.send()).rejects.toMatchObject({ details: { reason: 'timed_out' } })
    await using broken = await setUp((response) => response.destroy())
    await expect(broken.send()).rejects.toMatchObject({ details: { reason: 'not_reached' } })
  })

  it('sends nothing if every secret has expired', async () => {
    await using handler = await setUp(() => undefined, { keys: KEYS.map((one) => ({ ...one, notAfter: 1 })) as never })
    await expect(handler.send()).rejects.toMatchObject({ details: { reason: 'secrets_expired' } })
    expect(handler.connections()).toBe(0)
  })
})

/** A handler that takes batches, the keys of each call to it, and the first call as it was sent. */
async function setUpBatched(answer: (keys: string, response: ServerResponse) => void) {
  const calls: string[] = []
  const sent = Promise.withResolvers<{ headers: IncomingMessage['headers']; body: string }>()
  const server = await setUp(
    (response, { headers }, body) => {
      sent.resolve({ headers, body })
      const { events } = JSON.parse(body) as { events: { key: string }[] }
      const keys = events.map(({ key: one }) => one).join('')
      calls.push(keys)
      answer(keys, response)
    },
    { isBatched: true },
  )
  return { ...server, calls, sent: sent.promise }
}

const results = (keys: string, atX: object | null = DONE): string =>
  JSON.stringify({ results: Array.from(keys, (one) => (one === 'x' ? atX : DONE)) })

describe.concurrent('a batch by https', () => {
  it('is one message that the official library verifies, with every event as it would come alone', async () => {
    await using handler = await setUpBatched((keys, response) => response.end(results(keys)))
    expect(await handler.sendAll('ab')).toEqual([DONE, DONE])
    const { headers, body } = await handler.sent
    const events = ['a', 'b'].map((one) => ({ attempt: 2, key: one }))
    expect(new Webhook(SECRET).verify(body, headers as Record<string, string>)).toEqual({ handler: 'billing', events })
    expect(headers['webhook-id']).toMatch(/^batch_[0-9a-f]{64}$/)
    expect(headers).not.toHaveProperty('oncehook-attempt')
  })

  it.each([
    ['no verdict on an event', null, { refused: 'handler_failed', retry: 'later' }],
    ['a verdict of another form', { done: 'yes' }, { refused: 'handler_failed', retry: 'later' }],
    ['a refusal', { refused: 'unknown_plan', retry: 'never' }, { refused: 'unknown_plan', retry: 'never' }],
    ['when to try again', { refused: 'soon', retry: 'later', retryAfter: 7 }, { refused: 'soon', afterMs: 7_000 }],
  ])('with %s concerns that event alone', async (_, atX, expected) => {
    await using handler = await setUpBatched((keys, response) => response.end(results(keys, atX)))
    expect(await handler.sendAll('axb')).toMatchObject([DONE, expected, DONE])
    expect(handler.calls).toEqual(['axb'])
  })

  it.each([
    ['400', 400, '', { refused: 'handler_failed', retry: 'later' }],
    ['413', 413, '', { refused: 'handler_failed', retry: 'later' }],
    ['410', 410, '', { refused: 'handler_refused', retry: 'never' }],
    ['422', 422, '', { refused: 'handler_refused', retry: 'never' }],
    ['500', 500, '', { refused: 'handler_failed', retry: 'later' }],
    ['no list of verdicts', 200, '{"ok":true}', { refused: 'handler_failed', retry: 'later' }],
    ['a verdict too few', 200, '{"results":[]}', { refused: 'handler_failed', retry: 'later' }],
    ['nothing', 204, '', { refused: 'handler_failed', retry: 'later' }],
  ])('that is answered %s is halved until the event at fault is alone', async (_, status, body, expected) => {
    await using handler = await setUpBatched((keys, response) => {
      if (keys.includes('x')) response.writeHead(status).end(body)
      else response.end(results(keys))
    })
    expect(await handler.sendAll('abxd')).toMatchObject([DONE, DONE, expected, DONE])
    expect(handler.calls).toEqual(['abxd', 'ab', 'xd', 'x', 'd'])
  })

  it.each([
    [429, { isBusy: true, afterMs: 3_000 }],
    [503, { isBusy: true, afterMs: 3_000 }],
    [502, { isBusy: true }],
    [409, { afterMs: 3_000 }],
    [404, { refused: 'handler_failed' }],
    [302, { refused: 'handler_failed' }],
  ])('that is answered %i is not divided: it says nothing about one event', async (status, expected) => {
    await using handler = await setUpBatched((_, response) => response.writeHead(status, { 'retry-after': '3' }).end())
    const both = { retry: 'later', ...expected }
    expect(await handler.sendAll('ab')).toMatchObject([both, both])
    expect(handler.calls).toEqual(['ab'])
  })

  it('whose answer breaks off blames no event', async () => {
    await using handler = await setUpBatched((_, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('{"', () => setTimeout(() => response.destroy(), 20))
    })
    await expect(handler.sendAll('ab')).rejects.toMatchObject({ details: { reason: 'not_reached' } })
  })
})

const NOW = Date.parse('2026-11-26T10:00:00Z')

describe('readRetryAfter', () => {
  it.each([
    ['120', 120_000],
    [' 5 ', 5_000],
    ['Thu, 26 Nov 2026 10:00:30 GMT', 30_000],
    ['Thu, 26 Nov 2026 09:00:00 GMT', 0],
    ['', null],
    ['-5', null],
    ['1.5', null],
    ['99999999999999999999', 1_000_000_000_000],
  ])('reads %o as %o', (text, ms) => {
    expect(readRetryAfter(text, NOW)).toBe(ms)
  })
})
