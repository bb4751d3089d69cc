import { createPublicKey, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createHandler,
  type HandlerOptions,
  Refusal,
  type RefusalOptions,
  type RetryAdvice,
  type TrpcOptions,
} from '@oncehook/handler'
import { mongo } from '@oncehook/handler/mongo'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { MongoClient } from 'mongodb'
import { afterAll, describe, expect, it } from 'vitest'
import { signCall } from '../../packages/cli/src/contract/call.ts'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import { HANDLER } from './sample-task.ts'

const WHO = '@oncehook/handler breaks what it owes to its senders (packages/handler/README.md)'
const README = readFileSync(join(import.meta.dirname, '../../packages/handler/README.md'), 'utf8')
/** The results by which its page says that events are counted. */
const RESULTS = /events_total` .*/.exec(README)?.[0] ?? ''
const secretOf = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`
const SECRETS = {
  https: secretOf('the secret of this test, 32 byte'),
  trpc: newServiceKeyPair().privateKey,
}
type By = keyof typeof SECRETS
// The former one still counts, as during a change.
const SECRET_LIST = [secretOf('its former secret, with 32 bytes'), SECRETS.https]
const PUBLIC_KEYS = [newServiceKeyPair().privateKey, SECRETS.trpc]
  .map((key) => createPublicKey(key).export({ type: 'spki', format: 'pem' }))
  .join('')

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const address = new URL(database.uri.reveal())
address.pathname = database.name
await setUpMongo(address.href)
const store = mongo(database.client, { database: database.name })
const nowhere = new MongoClient('mongodb://127.0.0.1:1', { serverSelectionTimeoutMS: 10 })
stack.defer(() => nowhere.close())

function refuse(retry: RetryAdvice, options?: RefusalOptions): () => never {
  return () => {
    throw new Refusal(retry, 'Why not', options)
  }
}

function fail(): never {
  throw new Error('It fails')
}

const on = {
  ...{ done: () => undefined, fail, slow: () => new Promise(() => undefined) },
  ...{ 'many.*': refuse('never'), 'many.of.*': () => undefined, 'many.of.none': refuse('never') },
  ...{ now: refuse('now'), later: refuse('later'), soon: refuse('later', { afterSeconds: 5 }), never: refuse('never') },
}

/** What is sent. Default: a new event of a type that is done, as it should be. */
interface Sent {
  readonly type?: unknown
  /** Default: a short one. */
  readonly key?: () => string
  readonly data?: object
  readonly secret?: Readonly<Record<By, string>>
  readonly agoMs?: number
  readonly bytes?: Readonly<Record<By, number>>
  /** In the call. */
  readonly events?: number
  /** Beside them. */
  readonly added?: object
  /** Sent before under the same keys, with this more, one after the other. */
  readonly before?: readonly object[]
  /** What is under way meanwhile: this event, or another one. */
  readonly meanwhile?: 'this' | 'another'
  readonly audience?: string
  /** Default: that of a call. */
  readonly path?: string
  /** What the names of its headers begin with. */
  readonly family?: string
  readonly request?: RequestInit
  readonly stream?: () => ReadableStream
  readonly trpc?: Partial<TrpcOptions>
  readonly options?: Partial<Omit<HandlerOptions<unknown>, 'store' | 'on' | 'later'>>
  readonly isClosing?: boolean
  /** Nobody answers where its database was. */
  readonly isWithoutDatabase?: boolean
}

async function ask(by: By, sent: Sent): Promise<object> {
  const { type = 'done', secret = SECRETS, agoMs = 0, events = 1, audience = HANDLER, data = {} } = sent
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const hold = (): Promise<void> => {
    begun.resolve()
    return ended.promise
  }
  const handler = createHandler({
    ...{ name: HANDLER, store: sent.isWithoutDatabase ? mongo(nowhere) : store, on: { ...on, hold } },
    ...(by === 'https'
      ? { secrets: SECRET_LIST }
      : { trpc: { publicKeys: PUBLIC_KEYS, answerMs: 600_000, ...sent.trpc } }),
    // Longer than a busy machine needs for what does not hang.
    ...{ log: () => undefined, timeoutMs: 60_000, ...sent.options },
  })
  const tasks = Array.from({ length: events }, () => ({ key: sent.key?.() ?? randomUUID(), type, data, fill: '' }))
  const send = async (more: object): Promise<object> => {
    const [first = {}, ...others] = tasks.map((task) => ({ ...task, ...more }))
    const write = (task: object) =>
      by === 'https' ? { ...task } : { handler: audience, events: [task, ...others].slice(0, events), ...sent.added }
    const missing = Math.max(0, (sent.bytes?.[by] ?? 0) - JSON.stringify(write(first)).length)
    const body = write({ ...first, fill: 'x'.repeat(missing) })
    const plan = { secrets: [secret[by]], signedAt: Date.now() - agoMs, audience, isRepeated: false, hasSpaces: false }
    const { text, headers: signed } = signCall(by, { ...plan, body }, randomUUID)
    const headers = Object.entries(signed).map(([header, value]): [string, string] => [
      header.replace('webhook-', sent.family ?? 'webhook-'),
      value,
    ])
    const { headers: changed, ...request } = sent.request ?? {}
    const answer = await handler.fetch(
      new Request(`http://handler.test/${sent.path ?? (by === 'https' ? 'webhooks' : 'trpc/events.handle')}`, {
        ...{
          method: 'POST',
          duplex: 'half',
          ...(request.method === 'GET' ? {} : { body: sent.stream?.() ?? text }),
          ...request,
        },
        headers: { 'content-type': 'application/json', ...Object.fromEntries(headers), ...Object(changed) },
      }),
    )
    const { error, result, ...rest } = JSON.parse(await answer.text())
    const said = error?.data ?? result?.data ?? { ...rest, ...(error === undefined ? {} : { error }) }
    const [retryAfter, type] = ['retry-after', 'content-type'].map((name) => answer.headers.get(name))
    return { status: answer.status, retryAfter, type, ...said, counted: await handler.metrics() }
  }
  for (const more of sent.before ?? []) await send(more)
  const held = sent.meanwhile && send({ type: 'hold', ...(sent.meanwhile === 'another' && { key: randomUUID() }) })
  if (held !== undefined) await Promise.race([begun.promise, held])
  if (sent.isClosing === true) await handler.close()
  const answer = await send({}).finally(ended.resolve)
  await held
  await handler.close()
  return answer
}

interface Answer {
  readonly status: number
  readonly error?: string
  readonly retry?: RetryAdvice
  readonly retryAfter?: string | null
  readonly outcome?: string
  readonly repeated?: boolean
  readonly message?: string
}

function refusal(status: number, error: string, retry: RetryAdvice, retryAfter: string | null = null): Answer {
  return { status, error, retry, retryAfter, ...(error === 'refused' && { message: 'Why not' }) }
}

// All else is about the call as a whole.
const OF_EVENT = [409, 422, 500]

/** The label by which its page says that an answer is counted. While it is closing, nothing is. */
function labelOf({ status, error, outcome, repeated }: Answer) {
  const result = error === 'key_conflict' ? 'conflict' : (error ?? (repeated ? 'repeated' : outcome))
  // Bodies can be too many, too, which are no events.
  const label = RESULTS.includes(`\`${result}\``) ? `result="${result}"` : `status="${status}"`
  const labels = { closing: 'HELP', overloaded: `${label}|status="503"` }
  return expect.stringMatching(new Map(Object.entries(labels)).get(String(result)) ?? label)
}

/** What a call by tRPC gets with an event that gets this answer by https. */
function inCall(answer: Answer): object {
  const { status, error, retry, retryAfter, message } = answer
  if (status === 200) return { status, results: [{ done: true }] }
  if (!OF_EVENT.includes(status) && error !== 'not_an_event') return answer
  const wait = typeof retryAfter === 'string' ? { retryAfter: Number(retryAfter) } : {}
  const said = message === undefined ? {} : { message }
  return { status: 200, results: [{ refused: error, retry, ...wait, ...said }] }
}

const text = { request: { headers: { 'content-type': 'text/plain' } } }
const utf8 = {
  request: { headers: { 'content-type': 'Application/JSON; charset=utf-8', 'content-encoding': 'identity' } },
}
const cloud = { request: { headers: { 'content-type': 'application/cloudevents+json' } } }
const zipped = { request: { headers: { 'content-encoding': 'gzip' } } }
const get = { request: { method: 'GET' } }
const EXPIRED = { secrets: [{ value: SECRETS.https, notAfter: new Date(0) }] }
const other = { secret: { https: secretOf('a secret of somebody else, 32 by'), trpc: newServiceKeyPair().privateKey } }
const OLD = { agoMs: 360_000 }
const SLOW = { type: 'slow', options: { timeoutMs: 10 } }
const OTHERS = [{ key: 'slow_1' }, { key: 'slow_2' }]
const BROKEN = { stream: () => new ReadableStream({ start: (controller) => controller.error(new Error('gone')) }) }
const ENDLESS = { stream: () => new ReadableStream(), options: { bodyTimeoutMs: 100 } }
// As docs/reference/handlers.md says: the longest that the gateway sends.
const NAME = 'n'.repeat(63)
const LONGEST = { key: () => `${NAME}:${randomUUID().padEnd(472, '~')}:${NAME}` }
const DEEPEST: Sent = { data: JSON.parse(`${'{"a":'.repeat(511)}{}${'}'.repeat(511)}`) }
const LARGEST = { https: 1_572_864, trpc: 8_388_608 }
const LARGER = { https: LARGEST.https + 1, trpc: LARGEST.trpc + 1 }
const FULL: Sent = { bytes: { https: 1_000, trpc: 1_000 }, options: { maxBytes: 1_000, mostBodyBytes: 1_500 } }
const isDone = { status: 200, outcome: 'done', repeated: false }

const BY_BOTH: readonly (readonly [string, Sent, Answer])[] = [
  ['a new event', {}, isDone],
  ['an event that is done', { before: [{}] }, { ...isDone, repeated: true }],
  ['its key with another body', { before: [{ data: 1 }] }, refusal(422, 'key_conflict', 'never')],
  ['a type with two patterns', { type: 'many.of.them' }, isDone],
  ['a type with its own function, and patterns', { type: 'many.of.none' }, refusal(422, 'refused', 'never')],
  ['JSON in UTF-8', utf8, isDone],
  ['JSON of a kind', cloud, isDone],
  ['an unknown type', { type: 'other' }, { ...isDone, outcome: 'unhandled' }],
  [
    'an unknown type, if it refuses',
    { type: 'other', options: { unhandled: 'refuse' } },
    refusal(422, 'unhandled', 'never'),
  ],
  ['what must come again now', { type: 'now' }, refusal(409, 'refused', 'now', '0')],
  ['what must come again later', { type: 'later' }, refusal(409, 'refused', 'later', '60')],
  ['what must come again soon', { type: 'soon' }, refusal(409, 'refused', 'later', '5')],
  ['what it never does', { type: 'never' }, refusal(422, 'refused', 'never')],
  ['an event on which it fails', { type: 'fail' }, refusal(500, 'failed', 'later')],
  ['an event that takes too long', SLOW, refusal(500, 'timed_out', 'later')],
  ['the third event that takes too long', { ...SLOW, before: OTHERS }, refusal(503, 'timed_out', 'later', '5')],
  ['an event that is under way', { meanwhile: 'this', options: { waitMs: 1_000 } }, refusal(409, 'busy', 'later', '1')],
  [
    'an event while it has enough to do',
    { meanwhile: 'another', options: { concurrency: 1, mostWaiting: 0 } },
    refusal(503, 'overloaded', 'later', '1'),
  ],
  [
    'an event that waits too long for the others',
    { meanwhile: 'another', options: { concurrency: 1, waitMs: 1_000 } },
    refusal(503, 'overloaded', 'later', '1'),
  ],
  [
    'a body while others fill mostBodyBytes',
    { ...FULL, meanwhile: 'another' },
    refusal(503, 'overloaded', 'later', '1'),
  ],
  ['an event without its database', { isWithoutDatabase: true }, refusal(503, 'unavailable', 'later', '5')],
  ['a body that ends early', BROKEN, refusal(400, 'broken_body', 'later')],
  ['a body that never ends', ENDLESS, refusal(408, 'late_body', 'later')],
  ['no event', { type: 7 }, refusal(400, 'not_an_event', 'never')],
  ['another secret', other, refusal(401, 'not_authentic', 'never')],
  ['what was signed six minutes ago', OLD, refusal(401, 'not_authentic', 'never')],
  ['the largest body', { bytes: LARGEST }, isDone],
  ['the longest key', LONGEST, isDone],
  ['the deepest body', DEEPEST, isDone],
  ['a larger body', { bytes: LARGER }, refusal(413, 'too_large', 'never')],
  ['a text', text, refusal(415, 'not_json', 'never')],
  ['a compressed body', zipped, refusal(415, 'not_json', 'never')],
  ['a GET', get, refusal(405, 'not_a_post', 'never')],
  ['a PUT', { request: { method: 'PUT' } }, refusal(405, 'not_a_post', 'never')],
  ['an event while it is closing', { isClosing: true }, refusal(503, 'closing', 'later', '1')],
]

const ANSWERS: Readonly<Record<By, readonly (readonly [string, Sent, object])[]>> = {
  https: [
    ...BY_BOTH,
    ['what was signed four minutes ago', { agoMs: 240_000 }, isDone],
    ['an old signature that toleranceSeconds allows', { agoMs: 840_000, options: { toleranceSeconds: 900 } }, isDone],
    ['a body larger than maxBytes', { options: { maxBytes: 10 } }, refusal(413, 'too_large', 'never')],
    ['what an expired secret has signed', { options: EXPIRED }, refusal(401, 'not_authentic', 'never')],
    ['what Svix has signed', { family: 'svix-', before: [{ key: 'svix_1' }] }, isDone],
  ],
  trpc: [
    ...BY_BOTH.map(([what, sent, answer]) => [what, sent, inCall(answer)] as const),
    [
      'an event that it is still busy with',
      { ...{ type: 'slow', trpc: { answerMs: 10 } }, options: { timeoutMs: 200 } },
      { status: 200, results: [{ refused: 'unfinished', retry: 'later' }] },
    ],
    ['a call that says more', { added: { later: 'a later gateway may say more' } }, inCall(isDone)],
    ['the largest list', { events: 500, type: 7 }, { status: 200 }],
    ['a larger list', { events: 501 }, refusal(400, 'not_a_call', 'never')],
    ['an empty list', { events: 0 }, refusal(400, 'not_a_call', 'never')],
    ['a token for another handler', { audience: 'other' }, refusal(401, 'not_authentic', 'never')],
    ['a token for its other name', { audience: 'other', trpc: { audience: 'other' } }, inCall(isDone)],
    ['a call larger than it wants', { trpc: { maxBytes: 10 } }, refusal(413, 'too_large', 'never')],
    ['a call below another path', { path: 'api/hooks/events.handle' }, inCall(isDone)],
    ['another path', { path: 'webhooks' }, refusal(404, 'not_found', 'never')],
  ],
}

describe.each(['https', 'trpc'] as const)('@oncehook/handler, by %s,', (by) => {
  const who = by === 'trpc' ? WHO.replace('its senders', 'the gateway, which calls it by trpc') : WHO
  it.each(ANSWERS[by])('answers %s', async (what, sent, answer) => {
    const answered = await ask(by, sent)
    expect(answered, `${who}: ${what}`).toMatchObject({ type: 'application/json', ...answer })
    if (by === 'https')
      expect(answered, `${who}: what it counts of ${what}`).toMatchObject({ counted: labelOf(answer as Answer) })
  })
})

describe('@oncehook/handler', () => {
  it('has an interaction for each refusal of its table', () => {
    const rows = README.matchAll(/^\| ([45]\d\d) \| `(\w+)` \| (`[^|]*`) \|/gm)
    const told = Array.from(rows).flatMap(([, status, error, advice = '']) =>
      Array.from(advice.matchAll(/\w+/g), ([retry]) => `${status} ${error} ${retry}`),
    )
    expect(told.length).toBeGreaterThan(15)
    const answers = Object.values(ANSWERS).flatMap((list) =>
      list.map(([, , answer]) => new Map(Object.entries(answer))),
    )
    const had = answers.map((answer) => ['status', 'error', 'retry'].map((name) => answer.get(name)).join(' '))
    expect(
      told.filter((one) => !had.includes(one)),
      `${WHO}: refusals without an interaction`,
    ).toEqual([])
  })

  it('has an interaction for each option of its table', () => {
    const rows = README.slice(README.indexOf('## Limits')).matchAll(/^\| (`[^|]*`) \|/gm)
    const told = Array.from(rows).flatMap(([, names = '']) => Array.from(names.matchAll(/[\w.]+/g), ([name]) => name))
    expect(told.length).toBeGreaterThan(10)
    const had = Object.values(ANSWERS).flatMap((list) =>
      list.flatMap(([, { options = {}, trpc = {} }]) => [
        ...Object.keys(options),
        ...Object.keys(trpc).map((name) => `trpc.${name}`),
      ]),
    )
    // Its store gets the others: running-handler.provider.test.ts.
    const untold = told.filter((name) => !had.includes(name) && !/^(keepKeysDays|laterLimits)$/.test(name))
    expect(untold, `${WHO}: options without an interaction`).toEqual([])
  })
})
