import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { runInNewContext } from 'node:vm'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import { describe, expect, it, vi } from 'vitest'
import { createVerifier, type Verifier } from '../create-verifier.ts'
import { createFetchServer } from '../testing/fetch-server.ts'
import { serve } from '../testing/serve.ts'
import { readVectorFiles, type Vector } from '../testing/vectors.ts'
import type { AdapterOptions, OnVerified } from './create-responder.ts'
import { expressWebhook } from './express-webhook.ts'
import { fastifyWebhook } from './fastify-webhook.ts'
import { fetchWebhook } from './fetch-webhook.ts'
import { koaWebhook } from './koa-webhook.ts'

type Mount = (verifier: Verifier, onVerified: OnVerified, options?: AdapterOptions<unknown>) => Server | Promise<Server>

function mountOnKoa(...webhook: Parameters<Mount>): Server {
  const app = new Koa()
  app.silent = true
  return createServer(app.use(koaWebhook(...webhook)).callback())
}

async function mountOnFastify(...webhook: Parameters<Mount>): Promise<Server> {
  const app = fastify()
  app.register(fastifyWebhook(...webhook), { prefix: '/webhooks' })
  await app.ready()
  return app.server
}

const SERVERS: readonly (readonly [name: string, mount: Mount])[] = [
  ['a fetch handler', (...webhook) => createFetchServer(fetchWebhook(...webhook))],
  ['Express', (...webhook) => createServer(express().all('/webhooks', expressWebhook(...webhook)))],
  ['Fastify', mountOnFastify],
  ['Koa', mountOnKoa],
]

const files = readVectorFiles()

function vectorOf(scheme: string, why: string): Vector {
  const vector = files.find((file) => file.scheme === scheme)?.cases.find((one) => one.why === why)
  if (vector === undefined) throw new Error(`${scheme} has no vector "${why}"`)
  return vector
}

const genuine = vectorOf('stripe', 'signed as the provider signs')
const now = () => genuine.now * 1_000
const stripe = createVerifier({ scheme: 'stripe', secrets: genuine.secret }, { now })

interface Sent {
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: NonNullable<RequestInit['body']>
}

function sentOf({ headers, body }: Vector): Sent & { readonly body: Buffer } {
  return { headers: [['content-type', 'application/json'], ...headers], body: Buffer.from(body, 'base64') }
}

/** A body that Stripe has signed. */
function signedByStripe(body: string): Sent {
  const mac = createHmac('sha256', genuine.secret).update(`${genuine.now}.${body}`).digest('hex')
  const signature = `t=${genuine.now},v1=${mac}`
  return {
    headers: [
      ['content-type', 'application/json'],
      ['stripe-signature', signature],
    ],
    body,
  }
}

function post(url: string, { headers, body }: Sent): Promise<Response> {
  const lines = headers.map(([name, value]): [string, string] => [name, value])
  return fetch(`${url}/webhooks`, { method: 'POST', headers: lines, body, duplex: 'half' })
}

describe.each(SERVERS)('a webhook adapter on %s', (_, mount) => {
  it('hands a genuine delivery over and answers 200', async () => {
    const onVerified = vi.fn<OnVerified>()
    await using server = await serve(await mount(stripe, onVerified))
    const answer = await post(server.url, sentOf(genuine))
    expect([answer.status, await answer.json()]).toEqual([200, { received: true }])
    const events = [{ type: 'payment.succeeded', objectId: 'pay_0001' }]
    const rawBody = sentOf(genuine).body
    expect(onVerified.mock.calls).toMatchObject([[{ outcome: 'verified', secretId: '1', events, rawBody }]])
  })

  it('answers 401 to a tampered body, before anything parses it, and reports why', async () => {
    const [onVerified, onRejected] = [vi.fn<OnVerified>(), vi.fn<NonNullable<AdapterOptions<unknown>['onRejected']>>()]
    await using server = await serve(await mount(stripe, onVerified, { onRejected }))
    const { headers } = sentOf(genuine)
    const answer = await post(server.url, { headers, body: '{"tampered' })
    expect([answer.status, await answer.json()]).toEqual([401, { error: 'The delivery is not authentic' }])
    expect(onVerified).not.toHaveBeenCalled()
    expect(onRejected.mock.calls).toEqual([[{ outcome: 'refused', status: 401, reason: 'signature_mismatch' }]])
  })

  it.each(['{"tampered', '[]', '{"id":"evt_0001"}'])('takes the authentic body %s, which is no event', async (body) => {
    const onVerified = vi.fn<OnVerified>()
    await using server = await serve(await mount(stripe, onVerified))
    const answer = await post(server.url, signedByStripe(body))
    expect([answer.status, await answer.json()]).toEqual([200, { received: true }])
    expect(onVerified.mock.lastCall).toMatchObject([
      { events: [{ type: 'unreadable', facts: { withheld: 'unreadable' } }] },
    ])
  })

  it('answers 400 to an authentic body of a sender who was told another shape', async () => {
    const onVerified = vi.fn<OnVerified>()
    const own = createVerifier({ scheme: 'hmac', header: 'x-signature', secrets: 'a secret of the shop', effects: [] })
    await using server = await serve(await mount(own, onVerified))
    const signature = createHmac('sha256', 'a secret of the shop').update('{}').digest('hex')
    const answer = await post(server.url, { headers: [['x-signature', signature]], body: '{}' })
    expect([answer.status, await answer.json()]).toEqual([400, { error: expect.any(String) }])
    expect(onVerified).not.toHaveBeenCalled()
  })

  it('accepts a body as large as the limit, and answers 413 to a larger one, announced or not', async () => {
    const onVerified = vi.fn<OnVerified>()
    const { headers, body } = sentOf(genuine)
    await using limited = await serve(await mount(stripe, onVerified, { maxBytes: body.length }))
    expect((await post(limited.url, { headers, body })).status).toBe(200)
    const larger = Buffer.concat([body, Buffer.from(' ')])
    const answer = await post(limited.url, { headers, body: larger })
    expect([answer.status, await answer.json()]).toEqual([
      413,
      { error: `The body is larger than ${body.length} bytes` },
    ])
    const unannounced = await post(limited.url, { headers, body: ReadableStream.from([body, Buffer.from(' ')]) })
    expect(unannounced.status).toBe(413)
    expect(onVerified).toHaveBeenCalledTimes(1)
  })

  it('answers a handshake, and hands nothing over', async () => {
    const vector = vectorOf('slack', 'the check of the address, signed')
    const slack = createVerifier({ scheme: 'slack', secrets: vector.secret, acceptShortSecret: true }, { now })
    const onVerified = vi.fn<OnVerified>()
    await using server = await serve(await mount(slack, onVerified))
    const answer = await post(server.url, sentOf(vector))
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ challenge: JSON.parse(String(sentOf(vector).body)).challenge })
    expect(onVerified).not.toHaveBeenCalled()
  })

  it('answers the GET by which X checks the endpoint, and 405 to any other', async () => {
    const x = createVerifier({ scheme: 'x', secrets: 'test_secret', acceptShortSecret: true }, { now })
    await using server = await serve(await mount(x, vi.fn()))
    const answer = await fetch(`${server.url}/webhooks?crc_token=crc_0001`)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ response_token: 'sha256=8URkJr3tz8LZScGcvYGtW9GOzeALNgpiuarDraEVNKg=' })
    const other = await fetch(`${server.url}/webhooks`)
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('answers 503 while the provider cannot be reached', async () => {
    const api = { baseUrl: 'http://127.0.0.1:9', token: 'a_token_of_the_api' }
    const offline = () => Promise.reject(new Error('offline'))
    const mollie = createVerifier({ scheme: 'mollie-classic', fetch: api }, { fetch: offline })
    const onVerified = vi.fn<OnVerified>()
    await using server = await serve(await mount(mollie, onVerified))
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const
    expect((await post(server.url, { headers, body: 'id=tr_d0b0E3EA3v' })).status).toBe(503)
    expect(onVerified).not.toHaveBeenCalled()
  })

  it('leaves a failed handler to the framework, which answers 500', async () => {
    const onVerified: OnVerified = () => Promise.reject(new Error('The database is unavailable'))
    await using server = await serve(await mount(stripe, onVerified))
    expect((await post(server.url, sentOf(genuine))).status).toBe(500)
  })

  it.each([
    ['an error with the status 200', Object.assign(new Error('Not JSON'), { status: 200 })],
    ['nothing', undefined],
    ['a frozen error', Object.freeze(new Error('The database is unavailable'))],
    ['a sealed error', Object.seal(new Error('The database is unavailable'))],
    ['an error whose status cannot be read', unreadableStatus()],
    ['what cannot be looked at', revoked()],
    ['an error of another realm', runInNewContext('new Error("The database is unavailable")')],
  ])('answers 500, and lives, when a handler fails with %s', async (_, failure) => {
    await using server = await serve(await mount(stripe, () => Promise.reject(failure)))
    expect((await post(server.url, sentOf(genuine))).status).toBe(500)
  })
})

function unreadableStatus(): Error {
  const get = (): never => {
    throw new Error('It cannot be read')
  }
  return Object.defineProperty(new Error('The database is unavailable'), 'status', { get })
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable(new Error('The database is unavailable'), {})
  revoke()
  return proxy
}

describe('the address of the client', () => {
  const seen: unknown[] = []
  const note = (address: string | null | undefined) => {
    seen.push(address)
    return address
  }

  it.each<readonly [string, () => Server | Promise<Server>, unknown]>([
    [
      'Express',
      () => createServer(express().post('/webhooks', expressWebhook(stripe, vi.fn(), { from: ({ ip }) => note(ip) }))),
      '127.0.0.1',
    ],
    [
      'Fastify',
      async () => {
        const app = fastify()
        app.register(fastifyWebhook(stripe, vi.fn(), { from: ({ ip }) => note(ip) }), { prefix: '/webhooks' })
        await app.ready()
        return app.server
      },
      '127.0.0.1',
    ],
    [
      'Koa',
      () => createServer(new Koa().use(koaWebhook(stripe, vi.fn(), { from: ({ ip }) => note(ip) })).callback()),
      '127.0.0.1',
    ],
    [
      'a fetch handler, in a header of its proxy',
      () =>
        createFetchServer(
          fetchWebhook(stripe, vi.fn(), { from: ({ headers }) => note(headers.get('x-client-address')) }),
        ),
      '192.0.2.7',
    ],
  ])('is at hand on %s', async (_, mount, address) => {
    await using server = await serve(await mount())
    const { headers, body } = sentOf(genuine)
    const answer = await post(server.url, { headers: [...headers, ['x-client-address', '192.0.2.7']], body })
    expect([answer.status, seen.splice(0)]).toEqual([200, [address]])
  })
})

it.each([Number.NaN, 0, -1, 1.5, Number.POSITIVE_INFINITY])(
  'a limit of %d bytes is refused before any delivery comes',
  (maxBytes) => {
    for (const webhook of [expressWebhook, fastifyWebhook, fetchWebhook, koaWebhook]) {
      expect(() => webhook(stripe, vi.fn(), { maxBytes })).toThrow('maxBytes must be a positive integer')
    }
  },
)

describe('a body parser before the adapter', () => {
  it('is an error that says what to do', async () => {
    const app = express().use(express.json()).post('/webhooks', expressWebhook(stripe, vi.fn()))
    await using server = await serve(createServer(app))
    const answer = await post(server.url, sentOf(genuine))
    expect(answer.status).toBe(500)
    expect(await answer.text()).toContain('mount the adapter before any body parser')
  })

  it('is an error in a fetch handler too', async () => {
    const handle = fetchWebhook(stripe, vi.fn())
    const request = new Request('http://127.0.0.1/webhooks', { method: 'POST', body: '{}' })
    await request.json()
    await expect(handle(request)).rejects.toThrow('mount the adapter before any body parser')
  })

  it('may keep the raw bytes', async () => {
    const raw = express.raw({ type: '*/*' })
    const onVerified = vi.fn<OnVerified>()
    await using server = await serve(createServer(express().post('/webhooks', raw, expressWebhook(stripe, onVerified))))
    expect((await post(server.url, sentOf(genuine))).status).toBe(200)
    expect(onVerified).toHaveBeenCalledTimes(1)
  })

  it('may keep the raw bytes beside the parsed body, as Google Cloud Functions and NestJS do', async () => {
    const verify = (request: IncomingMessage, _response: unknown, rawBody: Buffer) =>
      Object.assign(request, { rawBody })
    const parser = express.json({ verify })
    const app = express().post('/webhooks', parser, expressWebhook(stripe, vi.fn()))
    await using server = await serve(createServer(app))
    expect((await post(server.url, sentOf(genuine))).status).toBe(200)
  })

  it('still parses the bodies of the other routes of Fastify', async () => {
    const app = fastify()
    app.register(fastifyWebhook(stripe, vi.fn()), { prefix: '/webhooks' })
    app.post('/orders', async ({ body }) => ({ body }))
    const answer = await app.inject({ method: 'POST', url: '/orders', payload: { id: 1 } })
    expect(answer.json()).toEqual({ body: { id: 1 } })
  })
})
