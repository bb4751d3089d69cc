import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { afterAll, describe, it, type TestContext } from 'vitest'
import { missingTool } from '../../../scripts/tools/find-tool.ts'
import { startFaultProxy } from '../../../test/support/stack/fault-proxy.ts'
import { createHandler, type EventFunction, type Handler, type LaterTransaction, type Store } from './create-handler.ts'
import { type MongoTransaction, mongo } from './mongo/mongo.ts'
import { postgres } from './postgres/postgres.ts'
import { SECRET, signedRequest } from './testing/signed-request.ts'
import { openMongo, openPostgres, type StoreUnderTest } from './testing/test-stores.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const onPostgres = stack.use(await openPostgres())
const onMongo = stack.use(await openMongo(process.env))
const underPostgres = ({ skip }: TestContext) => onPostgres ?? skip(missingTool('postgresql'))

const WAIT_MS = 300

/** A handler that is closed at the end of its test. */
function start<Tx extends LaterTransaction>(
  { onTestFinished }: TestContext,
  store: Store<Tx>,
  act: EventFunction<Tx>,
): Handler {
  const options = { name: 'test', store, secrets: SECRET, waitMs: WAIT_MS, on: { '*': act }, log: () => undefined }
  const handler = createHandler(options)
  onTestFinished(() => handler.close(500))
  return handler
}

async function send(handler: Handler, key: string) {
  const response = await handler.fetch(signedRequest({ key }))
  const { error, repeated } = (await response.json()) as { error?: string; repeated?: boolean }
  return { status: response.status, error, repeated }
}

const UNAVAILABLE = { status: 503, error: 'unavailable', repeated: undefined }

/** A handler on a database behind a proxy that can keep replies back. */
const BEHIND = {
  async PostgreSQL(context: TestContext) {
    const under = underPostgres(context)
    const [proxy, url] = await proxyTo(under.url)
    const pool = new pg.Pool({ connectionString: url.href })
    stack.defer(() => pool.end())
    return {
      under: under as StoreUnderTest,
      proxy,
      handler: start(context, postgres(pool), ({ key }, tx) => under.apply(tx, key)),
    }
  },
  async MongoDB(context: TestContext) {
    const [proxy, url] = await proxyTo(onMongo.url)
    url.searchParams.delete('replicaSet')
    url.searchParams.set('directConnection', 'true')
    const client = stack.use(new MongoClient(url.href))
    const act: EventFunction<MongoTransaction> = ({ key }, { db, session }) =>
      db.collection('effects').insertOne({ key }, { session })
    return { under: onMongo as StoreUnderTest, proxy, handler: start(context, mongo(client), act) }
  },
}

/** Sends an event while the reply to one command is held back. The answer must be 503. */
async function failWhileHeld(
  context: TestContext,
  database: keyof typeof BEHIND,
  { held, key, withinMs }: { readonly held: string; readonly key: string; readonly withinMs: number },
) {
  const { under, proxy, handler } = await BEHIND[database](context)
  // The first connection may take longer than a handler waits.
  await context.expect.poll(async () => (await send(handler, `before ${key}`)).status).toBe(200)
  const { arrived, release } = proxy.holdReply(held)
  const answer = await Promise.race([send(handler, key), sleep(withinMs, 'no answer', { ref: false })])
  await arrived
  release()
  context.expect(answer).toEqual(UNAVAILABLE)
  return { under, handler }
}

async function proxyTo(address: string) {
  const proxy = stack.use(await startFaultProxy())
  const url = new URL(address)
  proxy.leadTo(Number(url.port))
  url.port = String(proxy.port)
  return [proxy, url] as const
}

describe('a handler whose pool has no free client', () => {
  it('answers 503 after the wait, and returns the late client to the pool', async (context) => {
    const { expect } = context
    const under = underPostgres(context)
    const pool = new pg.Pool({ connectionString: under.url, max: 1 })
    stack.defer(() => pool.end())
    const handler = start(context, postgres(pool), ({ key }, tx) => under.apply(tx, key))
    const taken = await pool.connect()
    const answer = await Promise.race([send(handler, 'taken_1'), sleep(3_000, 'no answer', { ref: false })])
    taken.release()
    expect(answer).toEqual(UNAVAILABLE)
    expect(await send(handler, 'taken_1')).toEqual({ status: 200, error: undefined, repeated: false })
    expect((await under.effects()).taken_1).toBe(1)
  })
})

// They wait for ten seconds. Each has its own proxy, handler and key.
describe.concurrent.each([
  ['PostgreSQL', 'begin isolation', 'commit\0'],
  ['MongoDB', 'startTransaction', 'commitTransaction'],
] as const)('a handler on a %s that no longer answers', (name, begin, commit) => {
  it('answers 503 when it cannot claim the key', async (context) => {
    const { expect } = context
    const { under, handler } = await failWhileHeld(context, name, { held: begin, key: 'held_1', withinMs: 6_000 })
    expect((await under.effects()).held_1).toBeUndefined()
    await expect.poll(() => send(handler, 'held_1')).toEqual({ status: 200, error: undefined, repeated: false })
  })

  it('answers 503 when it does not know whether it committed', async (context) => {
    const { expect } = context
    const { under, handler } = await failWhileHeld(context, name, { held: commit, key: 'unknown_1', withinMs: 20_000 })
    let answer = await send(handler, 'unknown_1')
    while (answer.status === 503) answer = await send(handler, 'unknown_1')
    expect(answer).toEqual({ status: 200, error: undefined, repeated: true })
    expect((await under.effects()).unknown_1).toBe(1)
  })
})

describe('a handler whose connection to PostgreSQL breaks at the commit', () => {
  it.for([
    ['before', 'request', false],
    ['after', 'reply', true],
  ] as const)('answers no 200 %s it, and has one effect', async ([when, swallows, isCommitted], context) => {
    const { expect } = context
    const { under, proxy, handler } = await BEHIND.PostgreSQL(context)
    const key = `broken_${when}`
    await expect.poll(async () => (await send(handler, `first ${key}`)).status).toBe(200)
    const struck = proxy.strike({ marker: 'commit\0', swallows })
    const answered = send(handler, key)
    await struck
    proxy.breakSome(100)
    expect((await answered).status).toBeGreaterThanOrEqual(500)
    expect((await under.effects())[key]).toBe(isCommitted ? 1 : undefined)
    await expect.poll(() => send(handler, key)).toEqual({ status: 200, error: undefined, repeated: isCommitted })
    expect((await under.effects())[key]).toBe(1)
  })
})
