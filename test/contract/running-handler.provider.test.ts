import { createHash, createPublicKey } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import {
  createHandler,
  type HandlerEvent,
  type LaterMessage,
  type LaterTransaction,
  type LogLine,
  Refusal,
  type Store,
} from '@oncehook/handler'
import { mongo } from '@oncehook/handler/mongo'
import { type PostgresOptions, type PostgresTransaction, postgres } from '@oncehook/handler/postgres'
import { newServiceKeyPair } from '@oncehook/kernel/testing/service-key-pair'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { checkOptions } from '../../packages/handler/src/handler-options.ts'
import type { ClaimedMessage } from '../../packages/handler/src/store.ts'
import { openTestStores } from '../../packages/handler/src/testing/open-test-stores.ts'
import { SECRET, signedHeaders, signedRequest } from '../../packages/handler/src/testing/signed-request.ts'
import { factsIn } from '../../scripts/contracts/library-types.ts'
import { CONTRACTS } from './pact-files.ts'
import { HANDLER } from './sample-task.ts'

const WHO = '@oncehook/handler breaks what it owes to'
const README = readFileSync(join(import.meta.dirname, '../../packages/handler/README.md'), 'utf8')
const { onMongo, onPostgres, each } = await openTestStores(process.env)
const publicKey = createPublicKey(newServiceKeyPair().privateKey).export({ type: 'spki', format: 'pem' })
const trpc = { publicKeys: String(publicKey) }
const handlerOf = <Tx>(store: Store<Tx>, more: object = {}) =>
  createHandler({ name: HANDLER, secrets: SECRET, on: {}, log: () => undefined, store, trpc, ...more })

const MOVED = { path: '/in', trpc: { ...trpc, path: '/calls/' } }

/** What is behind each path of `listen`, by the answer to a GET. */
const SERVED: Readonly<Record<string, readonly [options: object, paths: Readonly<Record<string, number>>]>> = {
  default: [
    {},
    { '/webhooks': 405, '/trpc/events.handle': 405, '/livez': 200, '/readyz': 200, '/metrics': 200, '/in': 404 },
  ],
  chosen: [MOVED, { '/in?a=b': 405, '/calls/events.handle': 405, '/webhooks': 404, '/trpc/events.handle': 404 }],
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
  const together = 'onceTogether' in postgres({ connect: () => Promise.reject(), on: () => undefined })
  const has = Object.entries({
    ...{ HandlerOptions: { ...limits, path }, LaterLimits: later, TrpcOptions: { ...called } },
    ...{ RefusalOptions: new Refusal('later', ''), PostgresOptions: { isolation: await isolationOf(), together } },
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
  let removals = 0
  const [tasks, settled, ended] = [[] as unknown[], new Map<number, unknown>(), Promise.withResolvers<void>()]
  const settle = ({ attempt }: ClaimedMessage, how: unknown): void => {
    if (settled.set(attempt, how).size === 3) ended.resolve()
  }
  const waiting = [1, 3, 4].map((attempt) => ({ name: 'thank', key: 'told', payload: null, id: attempt, attempt }))
  const store: Store<LaterTransaction> = {
    ...onMongo.store,
    removeExpired: async () => removals++ && 0,
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
  expect(removals, `${who}: the removal of expired keys`).toBe(1)
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

it('gives each client of a pool back, and lets no lost connection end the process', async () => {
  const [client, released] = [new EventEmitter(), [] as unknown[]]
  const query = async (text: string) => {
    // Without a listener, this would throw.
    client.emit('error', new Error('It is lost'))
    return { rows: text.startsWith('insert') ? [{ transaction: '1' }] : [], rowCount: 0, command: '' }
  }
  const leased = Object.assign(client, { query, release: (destroy: unknown) => void released.push(destroy) })
  const pool = Object.assign(new EventEmitter(), { connect: async () => leased })
  const handler = handlerOf(postgres(pool as never))
  await handler.isReady()
  const { status } = await handler.fetch(signedRequest({ key: 'lost' }))
  await handler.close()
  const seen = [pool.listenerCount('error'), released, status]
  const who = `${WHO} the programs that share their pool (README.md)`
  expect(seen, `${who}: its listener, what it gave back, and the answer`).toEqual([1, [false, false], 500])
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
    const key: object = { _id: { handler: HANDLER, key: 'older' }, outcome: 'done', bodyHash }
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

const TELL = { '*': () => undefined }
const told = async (answer: Promise<Response>) => {
  const { error, outcome, repeated } = Object(await (await answer).json())
  return error ?? `${outcome}${repeated ? ' again' : ''}`
}

it.for(each)('answers with %s what its page says', async ([name, under], context) => {
  const { store, apply, effects } = under(context)
  const who = `${WHO} its senders (packages/handler/README.md), with ${name}`
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const on = {
    ...{ [`${name}.fails`]: fails, [`${name}.waits`]: refuses, hangs: () => new Promise(() => undefined) },
    holds: () => Promise.resolve(begun.resolve()).then(() => ended.promise),
    done: (event: HandlerEvent, tx: LaterTransaction) => apply(tx, event.key),
  }
  async function fails(event: HandlerEvent, tx: LaterTransaction) {
    await apply(tx, event.key)
    throw new Error('It fails')
  }
  async function refuses(event: HandlerEvent, tx: LaterTransaction) {
    await apply(tx, event.key)
    throw new Refusal('later', 'Not yet')
  }
  const more = { timeoutMs: 60_000, waitMs: 500 }
  const [first, other] = [handlerOf(store, { on, ...more }), handlerOf(store, { on, name: 'other' })]
  const ask = (key: string, type = 'done', data = {}, by = first) => told(by.fetch(signedRequest({ key, type, data })))
  const held = ask('both', 'holds')
  await begun.promise
  const underWay = await ask('both', 'holds').finally(ended.resolve)
  const answers = {
    'what is under way': underWay,
    'what was under way': await held,
    'what hangs': await ask('hangs', 'hangs', {}, handlerOf(store, { on, timeoutMs: 100 })),
    'a new event': await ask('one'),
    'a repetition': await ask('one'),
    'its key with another body': await ask('one', 'done', { id: 1 }),
    'its key under another name': await ask('one', 'done', {}, other),
    'what fails': await ask('fails', `${name}.fails`),
    'what is refused': await ask('waits', `${name}.waits`),
    'an unknown type': await ask('new', 'unknown'),
    'an unknown type again': await ask('new', 'unknown'),
    'a type that has got a function': await ask('new', 'unknown', {}, handlerOf(store, { on: TELL })),
  }
  expect(answers, `${who}: its answers`).toEqual({
    ...{ 'a new event': 'done', 'a repetition': 'done again', 'its key with another body': 'key_conflict' },
    ...{ 'its key under another name': 'done', 'what fails': 'failed', 'what is refused': 'refused' },
    ...{ 'what is under way': 'busy', 'what was under way': 'done', 'what hangs': 'timed_out' },
    'an unknown type': 'unhandled',
    ...{ 'an unknown type again': 'unhandled again', 'a type that has got a function': 'done' },
  })
  expect(await effects(), `${who}: the effects of events`).toEqual({ one: 2 })
})

it('starts and stops as its page says', async () => {
  const who = `${WHO} the programs that start and stop it (packages/handler/README.md)`
  const [begun, ended, hangs, sent] = [0, 1, 2, 3].map(() => Promise.withResolvers<unknown>())
  const seen: unknown[] = []
  const on = {
    thanks: (_: unknown, tx: LaterTransaction) => tx.later('stop'),
    waits: () => Promise.resolve(begun?.resolve('begun')).then(() => ended?.promise.then((one) => seen.push(one))),
    hangs: () => Promise.resolve(begun?.resolve('begun')).then(() => hangs?.promise),
  }
  const later = { stop: () => sent?.resolve('sent') }
  const handler = handlerOf(onMongo.store, { on, later, timeoutMs: 60_000 })
  const port = await handler.listen(0, '127.0.0.2')
  await expect(handler.listen(0), `${who}: listening twice`).rejects.toThrow(Error)
  const ask = (type: string) => handler.fetch(signedRequest({ key: `stop-${type}`, type }))
  seen.push((await fetch(`http://127.0.0.2:${port}/readyz`)).status, await handler.isReady())
  await ask('thanks')
  seen.push(await inTime(sent?.promise))
  await handler.close()
  const last = handlerOf(onMongo.store, { on, timeoutMs: 60_000 })
  const waits = () => last.fetch(signedRequest({ key: 'stop-waits', type: 'waits' }))
  const answer = waits()
  await begun?.promise
  const closed = last.close().then(() => seen.push('closed'))
  seen.push(await told(waits()), await last.isReady())
  await onMongo.store.ping()
  ended?.resolve('ended')
  await inTime(closed)
  seen.push((await answer).status, await inTime(last.close()))
  const expected = [200, true, 'sent', 'closing', false, 'ended', 'closed', 200, undefined]
  expect(seen, `${who}: readiness, its work with listen, and close while a function runs, and again`).toEqual(expected)
  const other = handlerOf(onMongo.store, { on, timeoutMs: 60_000 })
  const hanging = other.fetch(signedRequest({ key: 'stop-hangs', type: 'hangs' }))
  expect(await inTime(other.close(10)), `${who}: close with a short grace`).toBeUndefined()
  hangs?.resolve('over')
  await hanging
})

it('says that it is not ready while its database is away', async () => {
  const away = () => Promise.reject(new Error('It is away'))
  const outbox = { ...onMongo.store.outbox, count: away }
  const handler = handlerOf({ ...onMongo.store, ping: away, outbox })
  const port = await handler.listen(0)
  const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  const seen = [await handler.isReady(), await ask('/readyz'), await ask('/livez'), await ask('/metrics')]
  await handler.close()
  expect(seen, `${WHO} those who watch it (README.md): isReady, /readyz, /livez, /metrics`).toEqual([
    false,
    503,
    200,
    200,
  ])
})

it.for([
  [true, 1],
  [false, 2],
] as const)('runs a batch on PostgreSQL with together: %s', async ([together, transactions], context) => {
  const pool = new pg.Pool({ connectionString: onPostgres(context).url })
  const found = new Set<unknown>()
  const on = {
    async '*'(_: unknown, tx: PostgresTransaction<pg.PoolClient>) {
      found.add((await tx.query('select txid_current() as id')).rows[0]?.id)
    },
  }
  const handler = handlerOf(postgres(pool, { together }), { on })
  const events = [1, 2].map((nth) => ({ key: `${nth}-${together}`, type: 'told' }))
  const body = JSON.stringify({ handler: HANDLER, events })
  const request = { method: 'POST', headers: signedHeaders('batch', body), body }
  const answer = await handler.fetch(new Request('http://127.0.0.1/webhooks', request))
  const results = await answer.json().finally(() => pool.end())
  const who = `${WHO} the programs that choose together (packages/handler/README.md)`
  expect([results, found.size], `${who}: ${together}`).toMatchObject([
    { results: [{ done: true }, { done: true }] },
    transactions,
  ])
})

/** The command of its page by which a dead message is tried again. */
const commandIn = (language: string) => new RegExp(`\`\`\`${language}\n(.*oncehook_outbox.*)\n`).exec(README)?.[1] ?? ''

const REVIVED: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  async PostgreSQL(url) {
    const pool = new pg.Pool({ connectionString: url })
    return pool.query(commandIn('sql')).finally(() => pool.end())
  },
  async MongoDB(url) {
    await using client = new MongoClient(url)
    const db = { oncehook_outbox: client.db().collection('oncehook_outbox') }
    return await runInNewContext(commandIn('js'), { db, Date })
  },
}

it.for(each)('lets a dead message on %s be tried again by the command of its page', async ([name, under], context) => {
  const { store, url } = under(context)
  const [dead, sent] = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()]
  const on = { '*': (_: unknown, tx: LaterTransaction) => tx.later('mail') }
  const log = ({ level, attempt }: LogLine): void => void (level === 'error' && dead.resolve(`dead after ${attempt}`))
  const ends = () => Promise.reject(new Error('No mail'))
  const [failing, well] = [ends, () => sent.resolve('sent')].map((mail) =>
    handlerOf(store, { name: 'mailer', on, log, later: { mail }, laterLimits: { attempts: 1 } }),
  )
  failing?.work()
  await failing?.fetch(signedRequest({ key: `dead-${name}` }))
  const seen = [await inTime(dead.promise)]
  await failing?.close()
  const metrics = String(await failing?.metrics())
  await REVIVED[name]?.(url)
  well?.work()
  seen.push(await inTime(sent.promise))
  await well?.close()
  const who = `${WHO} the operators of its messages (packages/handler/README.md), with ${name}`
  expect(seen, `${who}: the log and the command`).toEqual(['dead after 1', 'sent'])
  expect(metrics, `${who}: oncehook_handler_messages_total and _dead`).toMatch(
    /"mail",result="dead"\} 1\n[\s\S]*_dead\{.*\} 1\n/,
  )
})
