import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  createVerifier,
  type ReceivedDelivery,
  type Verifier,
  type VerifierOptions,
  VerifierSettingsError,
} from '@oncehook/webhooks'
import { expressWebhook } from '@oncehook/webhooks/express'
import { fastifyWebhook } from '@oncehook/webhooks/fastify'
import { fetchWebhook } from '@oncehook/webhooks/fetch'
import { koaWebhook } from '@oncehook/webhooks/koa'
import { describe, expect, it } from 'vitest'
import { BOTH_EFFECTS } from '../support/stack/stack-settings.ts'
import { eventOf, SENDERS } from './webhook-senders.ts'

const WHO = '@oncehook/webhooks breaks what it owes to the programs that verify with it (packages/webhooks/README.md)'
const README = readFileSync(join(import.meta.dirname, '../../packages/webhooks/README.md'), 'utf8')
const [{ signer, sign, secret } = expect.unreachable()] = SENDERS
const EVENT = Buffer.from(signer.writeEvent(eventOf('evt_1', 'payment.succeeded'))).toString()
const STANDARD: VerifierOptions = { scheme: 'standard-webhooks', secrets: secret, ...BOTH_EFFECTS }
const OTHER = `whsec_${Buffer.from('the secret of somebody else here').toString('base64')}`
const SLACK = 'a secret of slack in a test and of nothing else'
const MINUTE_MS = 60_000

/** What a program receives, and how its verifier is set up. Default: an event that was signed now. */
interface Received {
  readonly body?: string
  readonly signedBy?: string
  readonly agoMs?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly options?: VerifierOptions
}

const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c-1' })
const now = String(Math.floor(Date.now() / 1_000))
const v0 = createHmac('sha256', SLACK).update(`v0:${now}:${challenge}`).digest('hex')
const ofSlack: Received = {
  ...{ body: challenge, options: { scheme: 'slack', secrets: SLACK } },
  headers: { 'x-slack-signature': `v0=${v0}`, 'x-slack-request-timestamp': now },
}
const unasked: Received = {
  ...{ body: 'id=tr_1', headers: {} },
  options: { scheme: 'mollie-classic', fetch: { baseUrl: 'https://api.mollie.test/v2', token: 'the-token-of-a-test' } },
}
const { id, objectId, orderId } = { id: 'evt_1', objectId: 'pay_evt_1', orderId: 'ord_evt_1' }
const facts = { orderId, amount: 1999, currency: 'EUR' }
const verified = { outcome: 'verified', status: 200, secretId: '1' }
const refused = (reason: string) => ({ outcome: 'refused', status: 401, reason })
const unreadable = (code: string) => ({ outcome: 'unreadable', status: 400, code })

const RESULTS: readonly (readonly [what: string, received: Received, result: { readonly status: number }])[] = [
  ['an event', {}, { ...verified, events: [{ id, type: 'payment.succeeded', objectId, facts }] } as typeof verified],
  ['what was signed four minutes ago', { agoMs: 4 * MINUTE_MS }, verified],
  ['what was signed six minutes ago', { agoMs: 6 * MINUTE_MS }, refused('timestamp_outside_window')],
  ['what a clock has signed that is four minutes ahead', { agoMs: -4 * MINUTE_MS }, verified],
  ['what somebody else has signed', { signedBy: OTHER }, refused('signature_mismatch')],
  ['what nobody has signed', { headers: {} }, refused('header_missing')],
  ['no event', { body: '{}' }, unreadable('event_invalid')],
  ['no JSON', { body: '{' }, unreadable('invalid_body')],
  ['a handshake', ofSlack, { outcome: 'handshake', status: 200, body: '{"challenge":"c-1"}' } as { status: 200 }],
  ['what only its provider can confirm', unasked, { outcome: 'undecided', status: 503 } as { status: 503 }],
  ['a body as large as an adapter takes', { body: padded(1_048_576) }, verified],
]

function padded(bytes: number): string {
  const write = (padding: number) => JSON.stringify({ ...JSON.parse(EVENT), padding: 'x'.repeat(padding) })
  return write(bytes - write(0).length)
}

function programOf({ body = EVENT, signedBy = secret, agoMs = 0, headers, options = STANDARD }: Received) {
  const fetch = () => Promise.reject(new Error('Nobody answers'))
  const signed = headers ?? sign(body, { id, now: Date.now() - agoMs, secret: signedBy })
  const delivery = { rawBody: body, headers: { 'content-type': 'application/json', ...signed } }
  return { verifier: createVerifier(options, { fetch }), delivery }
}

function post({ rawBody, headers }: ReturnType<typeof programOf>['delivery'], method = 'POST'): Request {
  const body = method === 'GET' ? {} : { body: rawBody }
  return new Request('http://program.test/webhooks', { method, headers, ...body })
}

interface Parsed {
  readonly body?: unknown
  readonly rawBody?: unknown
  readonly rawHeaders?: readonly string[]
}

type OnVerified = Parameters<typeof expressWebhook>[1]
type Incoming = Parameters<ReturnType<typeof expressWebhook>>[0]
type Ask = (verifier: Verifier, request: Incoming, onVerified: OnVerified) => Promise<number>
const CLIENT = '192.0.2.7'
const QUERY = '?shop=1&of=%2Fa%20b'
/** As its page says for Express, Koa and Fastify. */
const options = { from: ({ ip }: { readonly ip?: string | undefined }) => ip }

const onExpress: Ask = async (verifier, request, onVerified) => {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  void expressWebhook(verifier, onVerified, options)(request, { writeHead: resolve, end: () => undefined }, reject)
  return promise
}

const onKoa: Ask = async (verifier, req, onVerified) => {
  const ctx = { req, ip: CLIENT, status: 404, body: null, set: () => undefined }
  await koaWebhook(verifier, onVerified, options)(ctx)
  return ctx.status
}

const onFastify: Ask = async (verifier, raw, onVerified) => {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const reply = { code: resolve, headers: () => undefined, send: () => undefined }
  const register = fastifyWebhook(verifier, onVerified, options)
  await register({
    ...{ removeAllContentTypeParsers: () => undefined, addContentTypeParser: () => undefined },
    route: ({ handler }) => void handler({ raw, ip: CLIENT }, reply).catch(reject),
  })
  return promise
}

const onFetch: Ask = async (verifier, { method = 'GET', url = '', headers }, onVerified) => {
  const body = method === 'GET' ? {} : { body: EVENT }
  const sent = { method, headers: new Headers(headers as Record<string, string>), ...body }
  const webhook = fetchWebhook(verifier, onVerified, { from: () => CLIENT })
  return (await webhook(new Request(`http://program.test${url}`, sent))).status
}

/** What an adapter finds. Bytes that a parser has read are not in the request any more. */
const FOUND: readonly (readonly [what: string, ask: Ask, parsed: Parsed])[] = [
  ['Express', onExpress, {}],
  ['Express behind express.raw', onExpress, { body: Buffer.from(EVENT) }],
  ['Express where rawBody has the bytes', onExpress, { body: JSON.parse(EVENT), rawBody: Buffer.from(EVENT) }],
  ['Express behind serverless-http', onExpress, { rawHeaders: [] }],
  ['Koa', onKoa, {}],
  ['Koa behind serverless-http', onKoa, { rawHeaders: [] }],
  ['Fastify', onFastify, {}],
  ['a server of the fetch standard', onFetch, {}],
]

describe('@oncehook/webhooks', () => {
  it.each(FOUND)('takes a delivery on %s', async (what, ask, parsed) => {
    const { verifier, delivery } = programOf({})
    const { rawBody, headers } = delivery
    const rawHeaders = Object.entries(headers).flat()
    const known = { url: `/in${QUERY}`, ip: CLIENT, headers, rawHeaders, ...parsed }
    const senders: unknown[] = []
    const queries: unknown[] = []
    const noteQuery = (url = '') => queries.push(new URL(url, 'http://program.test').search)
    const noting: Verifier = {
      verify: (received) => {
        senders.push(received.from)
        noteQuery(received.url)
        return verifier.verify(received)
      },
      answerCheck: (url) => {
        noteQuery(url)
        return { outcome: 'handshake', status: 204 }
      },
    }
    const told: unknown[] = []
    const askWith = async (onVerified: OnVerified, method = 'POST') => {
      const stream = Readable.from([Buffer.from(rawBody)])
      if ('body' in parsed) for await (const _ of stream);
      return ask(noting, Object.assign(stream, { ...known, method }), onVerified).catch(String)
    }
    expect(await askWith((one) => void told.push(one)), `${WHO}: on ${what}`).toBe(200)
    expect(told, `${WHO}: what onVerified gets on ${what}`).toMatchObject([verified])
    const hidden = await askWith(() => Promise.reject(new Error('its own')))
    expect(hidden, `${WHO}: an error of onVerified on ${what}`).toBe('Error: its own')
    expect(senders, `${WHO}: the address of from on ${what}`).toEqual([CLIENT, CLIENT])
    expect(await askWith(() => undefined, 'GET'), `${WHO}: a check of the endpoint on ${what}`).toBe(204)
    expect(queries, `${WHO}: the query, which some providers sign, on ${what}`).toEqual([QUERY, QUERY, QUERY])
  })

  it.each(RESULTS)('says of %s what its page says, and answers so', async (_, received, result) => {
    const { verifier, delivery } = programOf(received)
    expect(await verifier.verify(delivery), WHO).toMatchObject(result)
    const [handed, rejected] = [[] as unknown[], [] as unknown[]]
    const onRejected = (one: unknown): void => void rejected.push(one)
    const answer = await fetchWebhook(verifier, (one) => void handed.push(one), { onRejected })(post(delivery))
    expect([answer.status, handed.length], WHO).toEqual([result.status, 'secretId' in result ? 1 : 0])
    expect(rejected, `${WHO}: what onRejected gets`).toMatchObject(result.status < 400 ? [] : [result])
  })

  it('does in its adapters what its page says of each option', async () => {
    const { verifier, delivery } = programOf({})
    const [rejected, senders] = [[] as unknown[], [] as unknown[]]
    const options = {
      maxBytes: EVENT.length - 1,
      onRejected: (one: unknown): void => void rejected.push(one),
      from: ({ method }: Request) => `the sender of a ${method}`,
    }
    const told = Array.from(README.matchAll(/^\| `options\.(\w+)` \|/gm), ([, name]) => name)
    expect(Object.keys(options).toSorted(), `${WHO}: the options of its page`).toEqual(told.toSorted())
    const noting: Verifier = {
      ...verifier,
      verify: (received) => {
        senders.push(received.from)
        return verifier.verify(received)
      },
    }
    const answer = (maxBytes: number) => fetchWebhook(noting, () => undefined, { ...options, maxBytes })(post(delivery))
    const statuses = [(await answer(options.maxBytes)).status, (await answer(EVENT.length)).status]
    expect(statuses, `${WHO}: what maxBytes lets through`).toEqual([413, 200])
    const tooLarge = { outcome: 'too_large', status: 413, maxBytes: options.maxBytes }
    expect(rejected, `${WHO}: what onRejected gets`).toEqual([tooLarge])
    expect(senders, `${WHO}: the address of from`).toEqual(['the sender of a POST'])
  })

  it('has an interaction for each outcome of its table', () => {
    const told = Array.from(README.matchAll(/^\| `(\w+)` \| .* \| \d{3}/gm), ([, outcome]) => ({ outcome }))
    expect(told).toHaveLength(5)
    for (const one of told)
      expect(
        RESULTS.map(([, , result]) => result),
        WHO,
      ).toContainEqual(expect.objectContaining(one))
  })

  it('takes each form of body and headers, and each of two secrets', async () => {
    const { rawBody: text, headers } = programOf({}).delivery
    const bytes = new TextEncoder().encode(text)
    const bodies = [text, bytes, Buffer.from(text), bytes.buffer]
    const written = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value] as const)
    const forms = [headers, new Headers(headers), Object.fromEntries(written), written, written.flat()]
    const all: ReceivedDelivery[] = bodies.flatMap((rawBody) => forms.map((one) => ({ rawBody, headers: one })))
    const secrets = [OTHER, { id: 'newer', value: secret }]
    const verifier = createVerifier({ ...STANDARD, secrets })
    for (const one of all) {
      const [body, given] = [one.rawBody, one.headers].map((value) => Object(value).constructor.name)
      const result = await verifier.verify(one).catch(String)
      expect(result, `${WHO}: a body as ${body}, headers as ${given}`).toMatchObject({ ...verified, secretId: 'newer' })
    }
  })

  it('refuses options, larger bodies and other methods, and hides no error of the program', async () => {
    expect(() => createVerifier({ ...STANDARD, secrets: '' }), WHO).toThrow(VerifierSettingsError)
    const { verifier, delivery } = programOf({ body: padded(1_048_577) })
    const webhook = fetchWebhook(verifier, () => Promise.reject(new Error('its own')))
    expect((await webhook(post(delivery))).status, WHO).toBe(413)
    const got = await webhook(post(delivery, 'GET'))
    expect([got.status, got.headers.get('allow')], WHO).toEqual([405, 'POST'])
    const failed = await webhook(post(programOf({}).delivery)).catch(String)
    expect(failed, `${WHO}: an error of onVerified`).toBe('Error: its own')
  })
})
