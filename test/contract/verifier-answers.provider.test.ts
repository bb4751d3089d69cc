import { createHmac, generateKeyPairSync, sign as signBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  createVerifier,
  type ReceivedDelivery,
  type Verification,
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
const JSON_TYPE = 'application/json'

/** What a program receives, and how its verifier is set up. Default: an event that was signed now. */
interface Received {
  readonly body?: string
  readonly signedBy?: string
  readonly agoMs?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly options?: VerifierOptions
  /** What the provider answers when it is asked. Default: nobody answers. */
  readonly confirmed?: object | null
}

const challenge = JSON.stringify({ type: 'url_verification', challenge: 'c-1' })
const now = String(Math.floor(Date.now() / 1_000))
const v0 = createHmac('sha256', SLACK).update(`v0:${now}:${challenge}`).digest('hex')
const ofSlack: Received = {
  ...{ body: challenge, options: { scheme: 'slack', secrets: SLACK } },
  headers: { 'x-slack-signature': `v0=${v0}`, 'x-slack-request-timestamp': now },
}
const ping = '{"type":0}'
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const discordKey = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex')
const pinged = signBytes(null, Buffer.from(now + ping), privateKey).toString('hex')
const ofDiscord: Received = {
  ...{ body: ping, options: { scheme: 'discord', secrets: discordKey } },
  headers: { 'x-signature-ed25519': pinged, 'x-signature-timestamp': now },
}
const unasked: Received = {
  ...{ body: 'id=tr_1', headers: {} },
  options: { scheme: 'mollie-classic', fetch: { baseUrl: 'https://api.mollie.test/v2', token: 'the-token-of-a-test' } },
}
const paid = { id: 'tr_1', status: 'paid', mode: 'live', amount: { value: '19.99', currency: 'EUR' } }
const { id, objectId, orderId } = { id: 'evt_1', objectId: 'pay_evt_1', orderId: 'ord_evt_1' }
const facts = { orderId, amount: 1999, currency: 'EUR' }
const verified = { outcome: 'verified', status: 200, secretId: '1' }
const refused = (reason: string) => ({ outcome: 'refused', status: 401, reason })
const message = expect.any(String)
const unreadable = (code: string) => ({ outcome: 'unreadable', status: 400, code, message })

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
  ['a handshake without a body', ofDiscord, { outcome: 'handshake', status: 204 } as { status: 204 }],
  ['what only its provider can confirm', unasked, { outcome: 'undecided', status: 503, message } as { status: 503 }],
  [
    'what its provider confirms',
    { ...unasked, confirmed: paid },
    { ...verified, secretId: 'unsigned', events: [{ type: 'payment.succeeded', objectId: 'tr_1' }] } as typeof verified,
  ],
  ['what its provider does not know', { ...unasked, confirmed: null }, refused('object_unknown')],
  ['a body as large as an adapter takes', { body: padded(1_048_576) }, verified],
]

function padded(bytes: number): string {
  const write = (padding: number) => JSON.stringify({ ...JSON.parse(EVENT), padding: 'x'.repeat(padding) })
  return write(bytes - write(0).length)
}

function programOf({ body = EVENT, signedBy = secret, agoMs = 0, headers, options = STANDARD, confirmed }: Received) {
  const fetch = async () => {
    if (confirmed === undefined) throw new Error('Nobody answers')
    return Response.json(confirmed ?? {}, { status: confirmed === null ? 404 : 200 })
  }
  const signed = headers ?? sign(body, { id, now: Date.now() - agoMs, secret: signedBy })
  const delivery = { rawBody: body, headers: { 'content-type': JSON_TYPE, ...signed } }
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
interface Options {
  readonly maxBytes?: number
  readonly onRejected?: (rejection: unknown) => void | Promise<void>
  readonly from?: () => never
}
type Ask = (verifier: Verifier, request: Incoming, onVerified: OnVerified, more: Options) => Promise<object>
const CLIENT = '192.0.2.7'
const QUERY = '?shop=1&of=%2Fa%20b'
/** As its page says for Express, Koa and Fastify. */
const from = ({ ip }: { readonly ip?: string | undefined }) => ip

const answerOf = (status: number, headers: Readonly<Record<string, string>>, body: unknown = null): object => {
  return { status, body: body ?? null, type: headers['content-type'], allow: headers.allow }
}

const onExpress: Ask = async (verifier, request, onVerified, more) => {
  const { promise, resolve, reject } = Promise.withResolvers<object>()
  let head: readonly [number, Record<string, string>] = [0, {}]
  const response = {
    writeHead: (...given: typeof head) => {
      head = given
    },
    end: (body: unknown) => resolve(answerOf(...head, body)),
  }
  void expressWebhook(verifier, onVerified, { from, ...more })(request, response, reject)
  return promise
}

const onKoa: Ask = async (verifier, req, onVerified, more) => {
  const sent: Record<string, string> = {}
  const ctx = { req, ip: CLIENT, status: 404, body: null, set: (headers: object) => Object.assign(sent, headers) }
  await koaWebhook(verifier, onVerified, { from, ...more })(ctx)
  return answerOf(ctx.status, sent, ctx.body)
}

const onFastify: Ask = async (verifier, raw, onVerified, more) => {
  const { promise, resolve, reject } = Promise.withResolvers<object>()
  const [sent, parsers, parsed] = [{}, ['one for JSON'], [] as unknown[]]
  let status = 0
  const reply = {
    code: (one: number) => {
      status = one
    },
    headers: (headers: object) => Object.assign(sent, headers),
    send: (body: unknown) => resolve(answerOf(status, sent, body)),
  }
  await fastifyWebhook(verifier, onVerified, { from, ...more })({
    removeAllContentTypeParsers: () => parsers.splice(0),
    addContentTypeParser: (type, parse) => parsers.push(type) && parse(raw, raw, (...given) => parsed.push(...given)),
    route({ method, url, handler }) {
      expect([parsers, parsed, url], `${WHO}: its parser and path on Fastify`).toEqual([['*'], [null], '/'])
      if (!method.some((one) => one === raw.method)) return resolve({ status: 404 })
      return void handler({ raw, ip: CLIENT }, reply).catch(reject)
    },
  })
  return promise
}

const onFetch: Ask = async (verifier, incoming, onVerified, more) => {
  const { method = 'GET', url = '', headers } = incoming
  const body = method === 'GET' ? {} : { body: EVENT }
  const sent = { method, headers: new Headers(headers as Record<string, string>), ...body }
  const request = new Request(`http://program.test${url}`, sent)
  if (incoming.readableDidRead) await request.text()
  const answer = await fetchWebhook(verifier, onVerified, { from: () => CLIENT, ...more })(request)
  return answerOf(answer.status, Object.fromEntries(answer.headers), (await answer.text()) || null)
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

interface Asked extends Options {
  readonly method?: string
  readonly onVerified?: OnVerified
  /** Something has read the body before. */
  readonly isRead?: boolean
}

/** The answer to the event, as `parsed` says that an adapter finds it, or what the framework gets instead. */
async function askOn([, ask, parsed]: (typeof FOUND)[number], verifier: Verifier, asked: Asked = {}): Promise<unknown> {
  const { method = 'POST', onVerified = () => undefined, isRead = 'body' in parsed, ...more } = asked
  const { rawBody, headers } = programOf({}).delivery
  const stream = Readable.from([Buffer.from(rawBody)])
  if (isRead) for await (const _ of stream);
  // Only the lines have repeated headers apart.
  const hasLines = ask !== onFetch && parsed.rawHeaders === undefined
  const known = { url: `/in${QUERY}`, ip: CLIENT, rawHeaders: Object.entries(headers).flat(), ...parsed }
  const request = Object.assign(stream, { ...known, headers: hasLines ? {} : headers, method })
  return ask(verifier, request, onVerified, more).catch((error: unknown) => error)
}

const text = { outcome: 'handshake', status: 200, body: 'c-1', contentType: 'text/plain' } as const
const unsigned = { outcome: 'refused', status: 401, reason: 'header_missing' } as const
const parts = { outcome: 'verified', status: 401, secretId: '1', events: [], refusedItems: [0] } as const

/** What an adapter answers to what its verifier says. */
const SAID: readonly (readonly [what: string, asked: Asked, said: Verification | null, answer: object])[] = [
  ['a handshake', {}, { outcome: 'handshake', status: 200, body: '{}' }, { status: 200, type: JSON_TYPE, body: '{}' }],
  ['a handshake in text', {}, text, { status: 200, type: 'text/plain', body: 'c-1' }],
  ['a check of the endpoint', { method: 'GET' }, text, { status: 200, type: 'text/plain', body: 'c-1' }],
  ['a check without a body', { method: 'GET' }, { outcome: 'handshake', status: 204 }, { status: 204, body: null }],
  ['a check that is refused', { method: 'GET' }, null, { status: 405, allow: 'POST' }],
  ['another method', { method: 'PUT' }, null, { status: 405, allow: 'POST' }],
  ['what is not authentic', {}, unsigned, { status: 401 }],
  ['what is authentic in part', {}, parts, { status: 401 }],
  ['a larger body', { maxBytes: EVENT.length - 1 }, unsigned, { status: 413 }],
]

const fails = (): never => {
  throw Object.assign(new Error('its own'), { status: 200 })
}

/** What the framework must learn, and must not answer with the status of an error. */
const FAILURES: readonly (readonly [what: string, asked: Asked, error: string])[] = [
  ['a status of what onVerified throws', { onVerified: fails }, 'Error'],
  ['what onRejected throws', { onRejected: fails, maxBytes: 1 }, 'Error'],
  ['what from throws', { from: fails }, 'Error'],
  ['a maxBytes that is no number', { maxBytes: Number.NaN }, 'RangeError'],
  ['a body that was read before', { isRead: true }, 'TypeError'],
]

describe('@oncehook/webhooks', () => {
  it.each(FOUND)('takes a delivery on %s', async (...found) => {
    const [what] = found
    const { verifier, delivery } = programOf({})
    const [senders, queries, told] = [[] as unknown[], [] as unknown[], [] as unknown[]]
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
    const answer = await askOn(found, noting, { onVerified: (one) => void told.push(one) })
    expect(answer, `${WHO}: on ${what}`).toMatchObject({ status: 200 })
    const rawBody = Buffer.from(delivery.rawBody)
    expect(told, `${WHO}: what onVerified gets on ${what}`).toMatchObject([{ ...verified, rawBody }])
    const hidden = await askOn(found, noting, { onVerified: () => Promise.reject(new Error('its own')) })
    expect(String(hidden), `${WHO}: an error of onVerified on ${what}`).toBe('Error: its own')
    expect(senders, `${WHO}: the address of from on ${what}`).toEqual([CLIENT, CLIENT])
    await askOn(found, noting, { method: 'GET' })
    expect(queries, `${WHO}: the query, which some providers sign, on ${what}`).toEqual([QUERY, QUERY, QUERY])
  })

  it.each(FOUND)('answers and fails on %s as its page says', async (...found) => {
    const [name] = found
    for (const [what, asked, said, answer] of SAID) {
      const rejected: unknown[] = []
      const answerCheck = () => (said?.outcome === 'handshake' ? said : null)
      const verifier: Verifier = { verify: async () => said ?? expect.unreachable(), answerCheck }
      const answered = await askOn(found, verifier, { onRejected: (one) => void rejected.push(one), ...asked })
      // Fastify itself answers the methods that it was not told.
      const expected = asked.method === 'PUT' && name === 'Fastify' ? { status: 404 } : answer
      expect(answered, `${WHO}: the answer to ${what} on ${name}`).toMatchObject(expected)
      const isRejected = said === unsigned ? [expect.objectContaining(answer)] : []
      expect(rejected, `${WHO}: what onRejected gets of ${what} on ${name}`).toEqual(isRejected)
    }
    const { verifier } = programOf({})
    const ofParser = 'body' in found[2]
    for (const [what, asked, error] of FAILURES.filter(([, { isRead }]) => !(isRead && ofParser))) {
      const failure = Object(await askOn(found, verifier, asked))
      const seen = [failure.name, 'status' in failure]
      expect(seen, `${WHO}: the framework gets ${what} on ${name}`).toEqual([error, false])
    }
  })

  it.each(RESULTS)('says of %s what its page says, and answers so', async (_, received, result) => {
    const { verifier, delivery } = programOf(received)
    expect(await verifier.verify(delivery), WHO).toMatchObject(result)
    const [handed, rejected] = [[] as unknown[], [] as unknown[]]
    const onRejected = (one: unknown): void => void rejected.push(one)
    const answer = await fetchWebhook(verifier, (one) => void handed.push(one), { onRejected })(post(delivery))
    if ('body' in result) expect(await answer.text(), `${WHO}: the body of a handshake`).toBe(result.body)
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
    expect(rejected, `${WHO}: what onRejected gets`).toMatchObject([tooLarge])
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
    const { rawBody: text, headers } = programOf({ body: EVENT.replace('{', '{"name":"Zoë",') }).delivery
    const bytes = new TextEncoder().encode(text)
    const bodies = [text, bytes, Buffer.from(text), bytes.buffer]
    const written = Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value] as const)
    const lists = Object.fromEntries([...written.map(([name, value]) => [name, [value]]), ['x-none', undefined]])
    const forms = [headers, new Headers(headers), Object.fromEntries(written), lists, written, written.flat()]
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
    const wrong: object = { secrets: [{ value: secret, notAfter: 'soon' }], nonsense: 1 }
    const failure = await new Promise<never>(() => createVerifier({ ...STANDARD, ...wrong })).catch((one) => one)
    expect(failure, `${WHO}: the class of wrong options`).toBeInstanceOf(VerifierSettingsError)
    const problems = [expect.stringContaining('nonsense'), expect.stringContaining('secrets.0')]
    expect(failure, `${WHO}: every problem`).toMatchObject({ name: 'VerifierSettingsError', problems })
    expect(failure.message, `${WHO}: a secret in a problem`).not.toContain(secret)
    const unread = programOf({}).verifier.verify({ rawBody: JSON.parse(EVENT), headers: {} })
    await expect(unread, `${WHO}: a body that was parsed`).rejects.toThrow(TypeError)
    const { verifier, delivery } = programOf({ body: padded(1_048_577) })
    const webhook = fetchWebhook(verifier, () => Promise.reject(new Error('its own')))
    expect((await webhook(post(delivery))).status, WHO).toBe(413)
    const got = await webhook(post(delivery, 'GET'))
    expect([got.status, got.headers.get('allow')], WHO).toEqual([405, 'POST'])
    const failed = await webhook(post(programOf({}).delivery)).catch(String)
    expect(failed, `${WHO}: an error of onVerified`).toBe('Error: its own')
  })
})
