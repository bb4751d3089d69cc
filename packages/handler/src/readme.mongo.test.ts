import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { newServiceKeyPair, testServiceTokens } from '@oncehook/kernel/testing/service-key-pair'
import { serve } from '@oncehook/webhooks/testing/serve'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { afterAll, afterEach, expect, it, type TestContext, vi } from 'vitest'
import { missingTool } from '../../../scripts/tools/find-tool.ts'
import type { Handler, Refusal } from './create-handler.ts'
import { SECRET, signedRequest } from './testing/signed-request.ts'
import { openMongo, openPostgres } from './testing/test-stores.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const onPostgres = stack.use(await openPostgres())
const onMongo = stack.use(await openMongo(process.env))

const opened: Handler[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
  vi.unstubAllEnvs()
})

/** The only example below a heading. */
function exampleOf(heading: string, language: string): string {
  const [, section = ''] = readme.split(`\n## ${heading}\n`)
  const [, code] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(section.split('\n## ')[0] ?? '') ?? []
  if (code === undefined) throw new Error(`README.md has no example below "${heading}"`)
  return code
}

const load = (name: string): Promise<unknown> => import(name)

/** Runs the example below a heading, on any free ports, and returns the value of an expression at its end. */
async function run(heading: string, result: string): Promise<unknown> {
  const script = exampleOf(heading, 'ts')
    .replaceAll(/^import (\w+) from ('[^']+')$/gm, 'const { default: $1 } = await load($2)')
    .replaceAll(/^import (\{[^}]+\}) from ('[^']+')$/gm, 'const $1 = await load($2)')
    .replaceAll(/^export |: (?:unknown|void)/gm, '')
    .replaceAll(/listen\(8091\)/g, 'listen(0)')
  return new Function('load', `return (async () => {\n${script}\nreturn ${result}\n})()`)(load)
}

async function startHandler(heading: string, env: Record<string, string>): Promise<Handler> {
  for (const [name, value] of Object.entries({ WEBHOOK_SECRET: SECRET, ...env })) vi.stubEnv(name, value)
  const handler = (await run(heading, 'handler')) as Handler
  opened.push(handler)
  return handler
}

const underPostgres = ({ skip }: TestContext) => onPostgres ?? skip(missingTool('postgresql'))
const DELETED = { key: 'msg_1', type: 'customer.subscription.deleted', data: { id: 'sub_1' } }

it('ends a subscription in PostgreSQL once', async (context) => {
  const { url } = underPostgres(context)
  const pool = new pg.Pool({ connectionString: url })
  stack.defer(() => pool.end())
  await pool.query(
    "create table subscriptions (id text, ended_at timestamptz); insert into subscriptions values ('sub_1')",
  )
  const handler = await startHandler('PostgreSQL', { DATABASE_URL: url })
  for (const repeated of [false, true]) {
    expect(await (await handler.fetch(signedRequest(DELETED))).json()).toEqual({ outcome: 'done', repeated })
  }
  const early = await handler.fetch(signedRequest({ ...DELETED, key: 'msg_0', data: { id: 'sub_2' } }))
  expect([early.status, await early.json()]).toMatchObject([409, { error: 'refused', retry: 'later' }])
  const { rows } = await pool.query("select * from subscriptions where id = 'sub_1'")
  expect(rows).toEqual([{ id: 'sub_1', ended_at: new Date('2026-11-01T12:00:00Z') }])
})

it('ends a subscription in MongoDB once', async () => {
  await using client = new MongoClient(onMongo.url)
  const subscriptions = client.db().collection('subscriptions')
  await subscriptions.insertOne({ id: 'sub_1' })
  const handler = await startHandler('MongoDB', { MONGODB_URI: onMongo.url })
  for (const repeated of [false, true]) {
    expect(await (await handler.fetch(signedRequest(DELETED))).json()).toEqual({ outcome: 'done', repeated })
  }
  expect(await subscriptions.findOne({ id: 'sub_1' })).toMatchObject({ endedAt: new Date('2026-11-01T12:00:00Z') })
})

it('sends a mail after the commit, and dead messages again', async (context) => {
  const { url, messages } = underPostgres(context)
  const received: unknown[] = []
  const mails = createServer((request, response) => {
    void text(request).then((body) => {
      received.push([request.headers['idempotency-key'], body])
      response.end()
    })
  })
  await using mailServer = await serve(mails)
  const pool = new pg.Pool({ connectionString: url })
  stack.defer(() => pool.end())
  await pool.query("create table invoices (id text, paid boolean); insert into invoices values ('in_1', false)")
  const handler = await startHandler('Mails and calls to other services', {
    DATABASE_URL: url,
    MAIL_URL: mailServer.url,
  })
  await handler.fetch(signedRequest({ key: 'msg_2', data: { id: 'in_1' } }))
  await expect.poll(() => received).toEqual([['billing:msg_2:1', '{"invoice":"in_1"}']])
  await expect.poll(messages).toEqual([])
  await pool.query(`insert into oncehook_outbox (handler, name, key, payload, attempt, dead_at)
    values ('billing', 'thank', 'billing:msg_3:1', '{}', 12, now())`)
  await pool.query(exampleOf('Mails and calls to other services', 'sql'))
  await expect.poll(() => received).toContainEqual(['billing:msg_3:1', '{}'])
})

it('sends dead messages in MongoDB again', async () => {
  await using client = new MongoClient(onMongo.url)
  const outbox = client.db().collection('oncehook_outbox')
  await outbox.insertOne({ handler: 'billing', name: 'thank', dead: true, attempt: 12, dueAt: new Date(0) })
  const [, filter, update] =
    /updateMany\((.+?), (\{ \$set.+)\)$/m.exec(exampleOf('Mails and calls to other services', 'js')) ?? []
  const [parsed, change] = new Function(`return [${filter}, ${update}]`)()
  await outbox.updateMany(parsed, change)
  expect(await outbox.findOne()).toMatchObject({ dead: false, attempt: 0 })
})

it('ends a subscription when the gateway sends its events in a batch', async () => {
  const keys = newServiceKeyPair()
  await using client = new MongoClient(onMongo.url)
  const subscriptions = client.db().collection('subscriptions')
  await subscriptions.insertOne({ id: 'sub_9' })
  const env = { MONGODB_URI: onMongo.url, SERVICE_PUBLIC_KEYS: keys.publicKey }
  const handler = await startHandler("Calls of Oncehook's gateway in batches", env)
  const event = { type: DELETED.type, timestamp: '2026-11-01T12:00:00Z', data: { id: 'sub_9' } }
  const events = ['stripe:1:billing', 'stripe:1:billing'].map((key) => ({ attempt: 1, key, ...event }))
  const body = JSON.stringify({ handler: 'billing', events })
  const tokens = testServiceTokens(keys, { audience: 'billing' })
  const authorization = `Bearer ${await tokens.issue({ procedure: 'events.handle', input: body })}`
  const headers = { authorization, 'content-type': 'application/json' }
  const called = new Request('http://billing.test/trpc/events.handle', { method: 'POST', headers, body })
  const results = [{ done: true }, { done: true }]
  expect(await (await handler.fetch(called)).json()).toEqual({ result: { data: { results } } })
  expect(await subscriptions.findOne({ id: 'sub_9' })).toMatchObject({ endedAt: new Date('2026-11-01T12:00:00Z') })
})

it('refuses what cannot be done now', async () => {
  const requireOrder = (await run('Refusals', 'requireOrder')) as (order: unknown) => void
  expect(() => requireOrder({})).not.toThrow()
  const refusal = expect.objectContaining({ retry: 'later', afterSeconds: 30 } satisfies Partial<Refusal>)
  expect(() => requireOrder(undefined)).toThrow(refusal)
})
