import { once } from 'node:events'
import { get } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { createHandler, type Handler, type HandlerOptions } from '../create-handler.ts'
import type { MongoTransaction } from '../mongo/mongo.ts'
import { SECRET, signedHeaders } from '../testing/signed-request.ts'
import { openMongo } from '../testing/test-stores.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const under = stack.use(await openMongo(process.env))

const opened: Handler[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close(1_000)))
})

const BODY = '{"type":"invoice.paid","data":{"id":"in_1"}}'

it('serves its path and the probes, and nothing else', async () => {
  const { url } = await start()
  const accepted = await post(url, { headers: signedHeaders('served_1', BODY) })
  expect([accepted.status, await accepted.json()]).toEqual([200, { outcome: 'done', repeated: false }])
  for (const path of ['/livez', '/readyz']) {
    const answer = await fetch(url + path)
    expect([answer.status, await answer.json()]).toEqual([200, { status: 'ok' }])
  }
  const metrics = await fetch(`${url}/metrics`)
  expect(metrics.headers.get('content-type')).toContain('text/plain')
  expect(await metrics.text()).toContain('oncehook_handler_events_total{handler="test",result="done"} 1')
  expect((await fetch(`${url}/other`)).status).toBe(404)
  expect((await fetch(`${url}/livez`, { method: 'POST' })).status).toBe(404)
})

// The other refusals are in the contract of a handler.
it.each([
  {
    why: 'an authentic body that names a property twice',
    status: 400,
    error: 'not_an_event',
    body: '{"type":"a","type":"b"}',
    sign: true,
  },
  { why: 'an authentic body that is not JSON', status: 400, error: 'not_an_event', body: '{"type', sign: true },
  {
    why: 'a delivery without a signature',
    status: 401,
    error: 'not_authentic',
    headers: { 'content-type': 'application/json' },
  },
])('refuses $why with $status', async ({ status, error, sign, ...sent }: Refused) => {
  const { url } = await start({ maxBytes: 1_000 })
  const headers = sign ? signedHeaders('refused_1', sent.body ?? BODY) : signedHeaders('refused_1', BODY)
  const answer = await post(url, { headers, ...sent })
  expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([status, error])
  expect(await (await fetch(`${url}/metrics`)).text()).toContain(`rejected_total{handler="test",status="${status}"} 1`)
})

it('asks its database once for all who want to know its state at a time', async () => {
  const gate = Promise.withResolvers<void>()
  const ping = vi.fn(() => gate.promise)
  const count = vi.fn(async () => {
    await gate.promise
    return { waiting: 1, dead: 0, oldestSeconds: 0 }
  })
  const { handler } = await start({ store: { ...under.store, ping, outbox: { ...under.store.outbox, count } } })
  const asked = [handler.isReady(), handler.isReady(), handler.metrics(), handler.metrics()]
  gate.resolve()
  const waiting = expect.stringContaining('messages_waiting{handler="test"} 1')
  expect(await Promise.all(asked)).toEqual([true, true, waiting, waiting])
  expect([ping.mock.calls.length, count.mock.calls.length]).toEqual([1, 1])
})

it('compares its path as it was sent', async () => {
  const { port } = await start()
  for (const path of ['/other/../webhooks', '/./webhooks', '/other/../livez']) {
    const [answer] = await once(get({ host: '127.0.0.1', port, path }), 'response')
    answer.resume()
    expect(answer.statusCode).toBe(404)
  }
})

it('writes no line about what strangers send', async () => {
  const lines: unknown[] = []
  const { url } = await start({ log: (line) => void lines.push(line) })
  const sent: Change[] = [{ method: 'GET' }, { body: '{' }, { headers: {} }, { headers: signedHeaders('x', 'y') }]
  for (const one of sent) expect((await post(url, one)).status).toBeLessThan(500)
  expect(lines).toEqual([])
})

it('accepts the header names of Svix, and events whose data has no id', async () => {
  const { url } = await start()
  const body = '{"type":"invoice.paid","data":{"email_id":"e_1"}}'
  const headers = Object.entries(signedHeaders('svix_1', body)).map(([name, value]) => [
    name.replace('webhook-', 'svix-'),
    value,
  ])
  expect((await post(url, { headers: Object.fromEntries(headers), body })).status).toBe(200)
  expect((await under.effects()).svix_1).toBe(1)
})

it('answers 408 to a body that does not arrive in time', async () => {
  const { port } = await start({ bodyTimeoutMs: 200 })
  const socket = connect(port, '127.0.0.1')
  const headers = Object.entries(signedHeaders('slow_1', BODY)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST /webhooks HTTP/1.1\r\nHost: x\r\n${headers.join('')}Content-Length: ${BODY.length}\r\n\r\n{`)
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  expect(text).toMatch(/^HTTP\/1\.1 408 .*"error":"late_body"/s)
})

it('closes after the deliveries that it has begun', async () => {
  const begun = Promise.withResolvers<void>()
  const { url, handler } = await start({
    on: {
      async 'invoice.paid'({ key }, tx) {
        begun.resolve()
        // How long the function takes: the end of the handler falls into this time.
        await sleep(300)
        await under.apply(tx, key)
      },
    },
  })
  const answer = post(url, { headers: signedHeaders('closing_1', BODY) })
  await begun.promise
  await handler.close()
  expect((await answer).status).toBe(200)
  expect((await under.effects()).closing_1).toBe(1)
  await expect(fetch(`${url}/livez`)).rejects.toThrow()
})

interface Refused extends Change {
  readonly why: string
  readonly status: number
  readonly error: string
  readonly sign?: boolean
}

interface Change {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

function post(url: string, { method = 'POST', headers = {}, body = BODY }: Change): Promise<Response> {
  return fetch(`${url}/webhooks`, { method, headers, ...(method === 'GET' ? {} : { body }) })
}

async function start(options: Partial<HandlerOptions<MongoTransaction>> = {}, wanted = 0) {
  const handler = createHandler({
    ...{ name: 'test', store: under.store, secrets: SECRET, log: () => undefined },
    on: { 'invoice.paid': ({ key }, tx) => under.apply(tx, key) },
    ...options,
  })
  opened.push(handler)
  const port = await handler.listen(wanted)
  return { handler, port, url: `http://127.0.0.1:${port}` }
}
