import { createPublicKey, randomUUID } from 'node:crypto'
import { createHandler, type HandlerOptions, Refusal, type RetryAdvice } from '@oncehook/handler'
import { mongo } from '@oncehook/handler/mongo'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { signCall } from '../../packages/cli/src/contract/call.ts'
import { setUpMongo } from '../../packages/handler/src/mongo/set-up-mongo.ts'
import { HANDLER } from './sample-task.ts'

const WHO = '@oncehook/handler breaks what it owes to its senders (packages/handler/README.md)'
const secretOf = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`
const SECRETS = {
  https: secretOf('the secret of this test, 32 byte'),
  trpc: newServiceKeyPair().privateKey,
}
const PUBLIC_KEY = String(createPublicKey(SECRETS.trpc).export({ type: 'spki', format: 'pem' }))

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const address = new URL(database.uri.reveal())
address.pathname = database.name
await setUpMongo(address.href)
const store = mongo(database.client, { database: database.name })

function refuse(retry: RetryAdvice): () => never {
  return () => {
    throw new Refusal(retry, 'Why not', retry === 'later' ? { afterSeconds: 60 } : {})
  }
}

function fail(): never {
  throw new Error('It fails')
}

const on = { done: () => undefined, now: refuse('now'), later: refuse('later'), never: refuse('never'), fail }

/** What is sent. Default: a new event of a type that is done, as it should be. */
interface Sent {
  readonly type?: unknown
  readonly secret?: string
  readonly agoMs?: number
  readonly bytes?: number
  /** In the call. */
  readonly events?: number
  /** Sent before under the same keys, with this more. */
  readonly before?: object
  readonly audience?: string
  readonly request?: RequestInit
  readonly options?: Pick<HandlerOptions<unknown>, 'unhandled'>
  readonly isClosing?: boolean
}

async function ask(by: 'https' | 'trpc', sent: Sent): Promise<object> {
  const { type = 'done', secret = SECRETS[by], agoMs = 0, bytes = 0, events = 1, audience = HANDLER } = sent
  const handler = createHandler({
    ...{ name: HANDLER, store, on, log: () => undefined, ...sent.options },
    ...(by === 'https' ? { secrets: SECRETS.https } : { trpc: { publicKeys: PUBLIC_KEY, answerMs: 600_000 } }),
  })
  const tasks = Array.from({ length: events }, () => ({ key: randomUUID(), type, data: {}, fill: '' }))
  const send = async (more: object): Promise<object> => {
    const [first = {}, ...others] = tasks.map((task) => ({ ...task, ...more }))
    const write = (task: object) =>
      by === 'https' ? { ...task } : { handler: audience, events: [task, ...others].slice(0, events) }
    const missing = Math.max(0, bytes - JSON.stringify(write(first)).length)
    const body = write({ ...first, fill: 'x'.repeat(missing) })
    const plan = { secrets: [secret], signedAt: Date.now() - agoMs, audience, isRepeated: false, hasSpaces: false }
    const { text, headers } = signCall(by, { ...plan, body }, randomUUID)
    const { headers: changed, ...request } = sent.request ?? {}
    const answer = await handler.fetch(
      new Request(`http://handler.test/${by === 'https' ? 'webhooks' : 'trpc/events.handle'}`, {
        ...{ method: 'POST', ...(request.method === 'GET' ? {} : { body: text }), ...request },
        headers: { 'content-type': 'application/json', ...headers, ...Object(changed) },
      }),
    )
    const { message: _, error, result, ...rest } = JSON.parse(await answer.text())
    const said = error?.data ?? result?.data ?? { ...rest, ...(error === undefined ? {} : { error }) }
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ...said }
  }
  if (sent.before !== undefined) await send(sent.before)
  if (sent.isClosing === true) await handler.close()
  return send({}).finally(() => handler.close())
}

/** A refusal of a whole call. */
function refusal(status: number, error: string, retry: RetryAdvice, retryAfter: string | null = null): object {
  return { status, error, retry, retryAfter }
}

/** A refusal of one event of a call by tRPC. */
function oneRefused(retry: RetryAdvice, more: object = {}, refused = 'refused'): object {
  return { status: 200, results: [{ refused, retry, ...more }] }
}

const text = { request: { headers: { 'content-type': 'text/plain' } } }
const zipped = { request: { headers: { 'content-encoding': 'gzip' } } }
const get = { request: { method: 'GET' } }
const other = { secret: secretOf('a secret of somebody else, 32 by') }
const OLD = { agoMs: 360_000 }
const LARGEST = { https: 1_572_864, trpc: 8_388_608 }
const isDone = { status: 200, outcome: 'done', repeated: false }
const isListDone = { status: 200, results: [{ done: true }] }

const ANSWERS: Readonly<Record<'https' | 'trpc', readonly (readonly [string, Sent, object])[]>> = {
  https: [
    ['a new event', {}, isDone],
    ['an event that is done', { before: {} }, { ...isDone, repeated: true }],
    ['its key with another body', { before: { data: 1 } }, refusal(422, 'key_conflict', 'never')],
    ['an unknown type', { type: 'other' }, { ...isDone, outcome: 'unhandled' }],
    [
      'an unknown type, if it refuses',
      { type: 'other', options: { unhandled: 'refuse' } },
      refusal(422, 'unhandled', 'never'),
    ],
    ['what must come again now', { type: 'now' }, refusal(409, 'refused', 'now', '0')],
    ['what must come again later', { type: 'later' }, refusal(409, 'refused', 'later', '60')],
    ['what it never does', { type: 'never' }, refusal(422, 'refused', 'never')],
    ['an event on which it fails', { type: 'fail' }, refusal(500, 'failed', 'later')],
    ['no event', { type: 7 }, refusal(400, 'not_an_event', 'never')],
    ['another secret', other, refusal(401, 'not_authentic', 'never')],
    ['what was signed six minutes ago', OLD, refusal(401, 'not_authentic', 'never')],
    ['what was signed four minutes ago', { agoMs: 240_000 }, isDone],
    ['the largest body', { bytes: LARGEST.https }, isDone],
    ['a larger body', { bytes: LARGEST.https + 1 }, refusal(413, 'too_large', 'never')],
    ['a text', text, refusal(415, 'not_json', 'never')],
    ['a compressed body', zipped, refusal(415, 'not_json', 'never')],
    ['a GET', get, refusal(405, 'not_a_post', 'never')],
    ['an event while it is closing', { isClosing: true }, refusal(503, 'closing', 'later', '1')],
  ],
  trpc: [
    ['a new event', {}, isListDone],
    ['an event that is done', { before: {} }, isListDone],
    ['its key with another body', { before: { data: 1 } }, oneRefused('never', {}, 'key_conflict')],
    ['what must come again now', { type: 'now' }, oneRefused('now', { message: 'Why not' })],
    ['what must come again later', { type: 'later' }, oneRefused('later', { retryAfter: 60 })],
    ['what it never does', { type: 'never' }, oneRefused('never')],
    ['an event on which it fails', { type: 'fail' }, oneRefused('later', {}, 'failed')],
    ['no event', { type: 7 }, oneRefused('never', {}, 'not_an_event')],
    ['the largest list', { events: 500, type: 7 }, { status: 200 }],
    ['a larger list', { events: 501 }, refusal(400, 'not_a_call', 'never')],
    ['an empty list', { events: 0 }, refusal(400, 'not_a_call', 'never')],
    ['a token for another handler', { audience: 'other' }, refusal(401, 'not_authentic', 'never')],
    ['what was signed six minutes ago', OLD, refusal(401, 'not_authentic', 'never')],
    ['the largest body', { bytes: LARGEST.trpc }, isListDone],
    ['a larger body', { bytes: LARGEST.trpc + 1 }, refusal(413, 'too_large', 'never')],
    ['a text', text, refusal(415, 'not_json', 'never')],
    ['a GET', get, refusal(405, 'not_a_post', 'never')],
    ['a call while it is closing', { isClosing: true }, refusal(503, 'closing', 'later', '1')],
  ],
}

describe.each(['https', 'trpc'] as const)('@oncehook/handler, by %s,', (by) => {
  it.each(ANSWERS[by])('answers %s', async (_, sent, answer) => {
    expect(await ask(by, sent), WHO).toMatchObject(answer)
  })
})
