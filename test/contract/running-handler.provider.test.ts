import { createHash, createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHandler, type LaterMessage, type LaterTransaction, Refusal, type Store } from '@oncehook/handler'
import { mongo } from '@oncehook/handler/mongo'
import { type PostgresOptions, postgres } from '@oncehook/handler/postgres'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { checkOptions } from '../../packages/handler/src/handler-options.ts'
import type { ClaimedMessage } from '../../packages/handler/src/store.ts'
import { openTestStores } from '../../packages/handler/src/testing/open-test-stores.ts'
import { SECRET, signedRequest } from '../../packages/handler/src/testing/signed-request.ts'
import { factsIn } from '../../scripts/contracts/library-types.ts'
import { CONTRACTS } from './pact-files.ts'
import { HANDLER } from './sample-task.ts'

const WHO = '@oncehook/handler breaks what it owes to'
const { onMongo, each } = await openTestStores(process.env)
const publicKey = createPublicKey(newServiceKeyPair().privateKey).export({ type: 'spki', format: 'pem' })
const trpc = { publicKeys: String(publicKey) }
const handlerOf = <Tx>(store: Store<Tx>, more: object = {}) =>
  createHandler({ name: HANDLER, secrets: SECRET, on: {}, log: () => undefined, store, trpc, ...more })

const MOVED = { path: '/in', trpc: { ...trpc, path: '/calls/' } }

/** What is behind each path of `listen`, by the answer to a GET. */
const SERVED: Readonly<Record<string, readonly [options: object, paths: Readonly<Record<string, number>>]>> = {
  default: [{}, { '/webhooks': 405, '/trpc/events.handle': 405, '/livez': 200, '/readyz': 200, '/metrics': 200 }],
  chosen: [MOVED, { '/in': 405, '/calls/events.handle': 405, '/webhooks': 404, '/trpc/events.handle': 404 }],
}

it.each(Object.entries(SERVED))('serves the %s paths', async (_, [options, paths]) => {
  const handler = handlerOf(onMongo.store, options)
  const port = await handler.listen(0)
  const ask = async (path: string) => [path, (await fetch(`http://127.0.0.1:${port}${path}`)).status] as const
  const served = await Promise.all(Object.keys(paths).map(ask)).finally(() => handler.close())
  expect(Object.fromEntries(served), `${WHO} its senders and the proxies in front of it (README.md)`).toEqual(paths)
})

/** The isolation that a store asks PostgreSQL for. */
async function isolationOf(options?: PostgresOptions): Promise<string | undefined> {
  const query = vi.fn((_: string) => Promise.reject(new Error('It is no database')))
  const client = { query, on: () => undefined, off: () => undefined, release: () => undefined }
  const store = postgres({ connect: async () => client, on: () => undefined }, options)
  await handlerOf(store).fetch(signedRequest({ key: 'asked' }))
  return /isolation level ([^;]+);/.exec(query.mock.calls.join())?.[1]
}

it.each(['repeatable read', 'serializable'] as const)('runs transactions with the isolation %s', async (isolation) => {
  expect(await isolationOf({ isolation }), `${WHO} the programs that choose one (README.md)`).toBe(isolation)
})

/** Where it listens, and how long it waits when it closes. */
async function listenAndClose(): Promise<object> {
  const handler = handlerOf(onMongo.store)
  const other = `http://127.0.0.2:${await handler.listen(0)}/livez`
  const isEverywhere = await fetch(other).then(Boolean, () => false)
  await handler.close()
  const timers = vi.spyOn(globalThis, 'setTimeout')
  // Nothing was received, so nothing else sets a timer meanwhile.
  await handlerOf(onMongo.store).close()
  const close = Math.max(...timers.mock.calls.map(([, ms]) => Number(ms)))
  timers.mockRestore()
  return { listen: isEverywhere ? 'every address' : '127.0.0.1', close }
}

it('has each default that its declarations tell', async () => {
  const options = { name: HANDLER, store: onMongo.store as Store<never>, on: {}, trpc }
  const { path, limits, later, trpc: called } = checkOptions(options, Date.now)
  const has = Object.entries({
    ...{ HandlerOptions: { ...limits, path }, LaterLimits: later, TrpcOptions: { ...called } },
    ...{ RefusalOptions: new Refusal('later', ''), PostgresOptions: { isolation: await isolationOf() } },
    Handler: await listenAndClose(),
  }).flatMap(([owner, all]) => Object.entries(all).map(([name, value]) => [`${owner}.${name}`, String(value)]))
  const declared = factsIn(readFileSync(join(CONTRACTS, 'libraries/handler.txt'), 'utf8'))
  // The others are seen in its answers, or are clocks.
  const told = [...declared].filter(([name]) => !/^package|unhandled|toleranceS|audience|\.now/.test(name))
  expect(told.length).toBeGreaterThan(20)
  const who = `${WHO} the programs that leave an option out (contracts/libraries/handler.txt)`
  expect(Object.fromEntries(has), who).toMatchObject(Object.fromEntries(told))
})

it('holds the limits that its options set for its store and its messages', async () => {
  const [tasks, settled, ended] = [[] as unknown[], new Map<number, unknown>(), Promise.withResolvers<void>()]
  const settle = ({ attempt }: ClaimedMessage, how: unknown): void => {
    if (settled.set(attempt, how).size === 3) ended.resolve()
  }
  const waiting = [1, 3, 4].map((attempt) => ({ name: 'thank', key: 'told', payload: null, id: attempt, attempt }))
  const store: Store<LaterTransaction> = {
    ...onMongo.store,
    async once(task) {
      tasks.push(task)
      return { outcome: 'done', repeated: false, messages: 0 }
    },
    outbox: {
      ...onMongo.store.outbox,
      async claim({ most, leaseMs }) {
        tasks.push({ most, isShort: leaseMs < 30_000 })
        return waiting.splice(0)
      },
      retry: async (message, afterMs) => settle(message, afterMs),
      markDead: async (message) => settle(message, 'dead'),
    },
  }
  const later = { thank: () => Promise.reject(new Error('It fails')) }
  const laterLimits = { attempts: 4, timeoutMs: 1_234, concurrency: 3, retryBaseMs: 50, retryCapMs: 60 }
  const options = { keepKeysDays: 8, waitMs: 1_234, timeoutMs: 2_345, on: { '*': () => undefined } }
  const asked = { name: HANDLER, secrets: SECRET, log: () => undefined, store, later, laterLimits, ...options }
  const handler = createHandler(asked, { random: () => 1 })
  await handler.fetch(signedRequest({ key: 'told' }))
  handler.work()
  await ended.promise
  await handler.close()
  const who = `${WHO} the programs that set an option (packages/handler/README.md)`
  const task = { keepMs: 691_200_000, waitMs: 1_234, timeoutMs: 2_345 }
  expect(tasks.slice(0, 2), `${who}: its transactions and its messages`).toMatchObject([
    task,
    { most: 3, isShort: true },
  ])
  const waits = { 1: 50, 3: 60, 4: 'dead' }
  expect(Object.fromEntries(settled), `${who}: the waits of a message, by attempt`).toEqual(waits)
})

/** What comes in time: a test of what hangs must say so. */
const inTime = <T>(asked: Promise<T> | undefined) => Promise.race([asked, sleep(20_000, 'nothing', { ref: false })])

/** A store with connections of its own, which nothing else needs. */
const OWN: Readonly<Record<string, (url: string) => { readonly store: Store<never>; end(): Promise<unknown> }>> = {
  PostgreSQL(url) {
    const pool = new pg.Pool({ connectionString: url })
    return { store: postgres(pool), end: () => pool.end() }
  },
  // Without the name of the database: it is that of the URL.
  MongoDB(url) {
    const client = new MongoClient(url)
    return { store: mongo(client), end: () => client.close() }
  },
}

it.for(each)('leaves the connections to %s open when it closes', async ([name, under], context) => {
  const { store, end } = OWN[name]?.(under(context).url) ?? expect.unreachable()
  const who = `${WHO} the programs that use their pool or client (${name})`
  const handler = handlerOf(store)
  const answer = await handler.fetch(signedRequest({ key: `own-${name}` }))
  await handler.close()
  // A program whose pool is ended must not wait for minutes.
  const failed = ({ cause, message }: Error) => String(cause ?? message)
  const failure = await inTime(store.ping().catch(failed))
  await end().catch(() => undefined)
  expect([answer.status, failure], `${who} after its close`).toEqual([200, undefined])
})

/** How an older process stores a key and a message. During an update it runs beside a new one. */
const OLDER: Readonly<Record<string, (url: string, bodyHash: string) => Promise<unknown>>> = {
  async PostgreSQL(url, bodyHash) {
    const pool = new pg.Pool({ connectionString: url })
    const stored = pool.query(`insert into oncehook_keys (handler, key, outcome, body_hash, expires_at)
        values ('${HANDLER}', 'older', 'done', '${bodyHash}', now() + make_interval(secs => 60));
      insert into oncehook_outbox (handler, name, key, payload) values ('${HANDLER}', 'thank', 'older', '"you"')`)
    await stored.finally(() => pool.end())
  },
  async MongoDB(url, bodyHash) {
    await using client = new MongoClient(url)
    const [db, createdAt, expiresAt] = [client.db(), new Date(), new Date(Date.now() + 60_000)]
    const key: object = { _id: { handler: HANDLER, key: 'older' }, outcome: 'done', bodyHash, conflicts: 0 }
    await db.collection('oncehook_keys').insertOne({ ...key, createdAt, expiresAt })
    const message = { handler: HANDLER, name: 'thank', key: 'older', payload: '"you"', attempt: 0, dead: false }
    await db.collection('oncehook_outbox').insertOne({ ...message, createdAt, dueAt: createdAt })
  },
}

it.for(each)('shares its keys and messages on %s with an older process', async ([name, under], context) => {
  const { url, store } = under(context)
  const who = `${WHO} its older versions, which run beside it (${name})`
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const failure = await OLDER[name]?.(url, sha256(await signedRequest({ key: '' }).text())).catch(String)
  expect(failure, `${who}: what they store`).toBeUndefined()
  const [sent, ended] = [new Map<string, unknown>(), Promise.withResolvers<void>()]
  // The older message is due first.
  const thank = ({ key, payload }: LaterMessage) => sent.set(key, payload) && key !== 'older' && ended.resolve()
  const on = { '*': (_: unknown, tx: LaterTransaction) => tx.later('thank', 'you') }
  const handler = handlerOf(store, { on, later: { thank }, laterLimits: { concurrency: 1 }, log: ended.resolve })
  const ask = async (key: string) => Object(await (await handler.fetch(signedRequest({ key }))).json()).repeated
  const newer = 'newer'.padEnd(255, '~')
  expect([await ask('older'), await ask(newer)], `${who}: their keys`).toEqual([true, false])
  handler.work()
  await ended.promise
  await handler.close()
  // Instead of a longer key, its SHA-256.
  const both = { older: 'you', [sha256(`${HANDLER}:${newer}:1`)]: 'you' }
  expect(Object.fromEntries(sent), `${who}: the messages and their keys`).toEqual(both)
})
