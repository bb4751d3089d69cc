import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { readWebhookKey } from '@oncehook/kernel/secrets/sign-webhook'
import { systemClock } from '@oncehook/kernel/time/clock'
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
async function setUp(answer: Answer, { timeoutMs = 10_000, keys = KEYS } = {}) {
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
    ...{ clock: systemClock, timeoutMs },
  })
  return {
    connections: () => connections,
    send: async (task = TASK) => (await call([task]))[0],
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
