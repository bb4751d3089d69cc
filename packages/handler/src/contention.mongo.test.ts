import { setTimeout as sleep } from 'node:timers/promises'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { MongoClient, MongoError } from 'mongodb'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it, type TestContext } from 'vitest'
import { missingTool } from '../../../scripts/tools/find-tool.ts'
import { createHandler, type EventFunction, type Handler, type LogLine, type Store } from './create-handler.ts'
import { mongo } from './mongo/mongo.ts'
import { postgres } from './postgres/postgres.ts'
import { SECRET, signedRequest } from './testing/signed-request.ts'
import { openMongo, openPostgres } from './testing/test-stores.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const onPostgres = stack.use(await openPostgres())
const onMongo = stack.use(await openMongo(process.env))

// In this time, transactions of the same moment meet. If they do not, the test passes without them.
const MEETING_MS = 5

const opened: Handler[] = []
const lines: LogLine[] = []
afterEach(async () => {
  lines.length = 0
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

function start<Tx>(store: Store<Tx>, act: EventFunction<Tx>): Handler {
  const options = { name: 'test', store, secrets: SECRET, on: { '*': act }, concurrency: 3 }
  const handler = createHandler({ ...options, later: { mail: () => undefined }, log: (line) => lines.push(line) })
  opened.push(handler)
  return handler
}

async function send(handler: Handler, key: string): Promise<readonly [number, string | undefined]> {
  const response = await handler.fetch(signedRequest({ key }))
  return [response.status, ((await response.json()) as { error?: string }).error]
}

/** The statuses of three events at once, nine times. */
async function sendAll(handler: Handler, start: string): Promise<readonly number[]> {
  const statuses: number[] = []
  for (let turn = 0; turn < 9; turn += 1) {
    const answers = await Promise.all([1, 2, 3].map((index) => send(handler, `${start}_${turn}_${index}`)))
    statuses.push(...answers.map(([status]) => status))
  }
  return statuses
}

describe('a handler on PostgreSQL', () => {
  const under = ({ skip }: TestContext) => onPostgres ?? skip(missingTool('postgresql'))

  async function query(context: TestContext, text: string, values: unknown[] = []) {
    const client = new pg.Client(under(context).url)
    await client.connect()
    return client.query(text, values).finally(() => client.end())
  }

  /** Ends these connections, and waits until they are gone. */
  async function endConnections(context: TestContext, pids: readonly unknown[]): Promise<void> {
    await query(context, 'select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids])
    const left = 'select 1 from pg_stat_activity where pid = any($1::int[])'
    await expect.poll(async () => (await query(context, left, [pids])).rows).toEqual([])
  }

  it('does not count an event as done if the function hides that a query failed', async (context) => {
    const store = under(context)
    const handler = start(store.store, async ({ key }, tx) => {
      await store.apply(tx, key)
      await tx.query('select nothing').catch(() => undefined)
    })
    expect(await send(handler, 'hidden_1')).toEqual([500, 'failed'])
    expect(String(lines[0]?.error)).toContain('PostgreSQL rolled the transaction back')
    expect(await store.effects()).not.toHaveProperty('hidden_1')
  })

  it.for(['rollback', 'commit', 'commit; begin'])(
    'does not count an event as done if the function ends the transaction: %s',
    async (text, context) => {
      const store = under(context)
      const handler = start(store.store, async ({ key }, tx) => {
        await store.apply(tx, key)
        tx.later('mail')
        await tx.query(text)
      })
      expect(await send(handler, `ended ${text}`)).toEqual([500, 'failed'])
      expect(String(lines[0]?.error)).toContain('The function ended the transaction itself')
      expect(await store.messages()).toEqual([])
    },
  )

  it('refuses a query after the function has returned', async (context) => {
    const store = under(context)
    let applyLate = (): Promise<unknown> => Promise.resolve()
    const handler = start(store.store, ({ key }, tx) => {
      applyLate = () => store.apply(tx, key)
    })
    expect(await send(handler, 'forgotten_1')).toEqual([200, undefined])
    await expect(applyLate()).rejects.toThrow('await everything before the function returns')
    expect(await store.effects()).not.toHaveProperty('forgotten_1')
  })

  it('repeats transactions that PostgreSQL rolls back because of others', async (context) => {
    await query(context, 'create table counter (n int); insert into counter values (0)')
    const pool = new pg.Pool({ connectionString: under(context).url })
    stack.defer(() => pool.end())
    const handler = start(postgres(pool, { isolation: 'serializable' }), async (_, tx) => {
      const { rows } = await tx.query<{ n: number }>('select n from counter')
      await sleep(MEETING_MS)
      await tx.query('update counter set n = $1', [(rows[0]?.n ?? 0) + 1])
    })
    expect(new Set(await sendAll(handler, 'serial'))).toEqual(new Set([200]))
    expect((await query(context, 'select n from counter')).rows).toEqual([{ n: 27 }])
  })

  it('survives lost connections, in a transaction and between them', async (context) => {
    const store = under(context)
    let isFirst = true
    const handler = start(store.store, async ({ key }, tx) => {
      await store.apply(tx, key)
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      if (!isFirst) return
      isFirst = false
      await endConnections(context, [rows[0]?.pid])
    })
    expect(await send(handler, 'lost_1')).toEqual([500, 'failed'])
    expect(await store.effects()).not.toHaveProperty('lost_1')
    expect(await send(handler, 'lost_1')).toEqual([200, undefined])
    const others = 'select pid from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()'
    const { rows } = await query(context, others)
    await endConnections(
      context,
      rows.map(({ pid }) => pid),
    )
    expect(await send(handler, 'lost_2')).toEqual([200, undefined])
    expect(await store.effects()).toMatchObject({ lost_1: 1, lost_2: 1 })
  })

  it('answers 503 while the database is unavailable', async () => {
    const pool = new pg.Pool({ host: '127.0.0.1', port: 9 })
    const handler = start(postgres(pool), () => undefined)
    expect(await send(handler, 'down_1')).toEqual([503, 'unavailable'])
    expect(await handler.isReady()).toBe(false)
    expect(await handler.metrics()).not.toContain('messages_waiting')
  })
})

describe('a handler on MongoDB', () => {
  it.each([
    ['ends its transaction', false, 'The function ended the transaction itself'],
    ['begins another transaction', true, 'The function must not begin a transaction'],
  ])('does not count an event as done if the function %s', async (how, again, problem) => {
    const handler = start(onMongo.store, async ({ key }, tx) => {
      await onMongo.apply(tx, key)
      tx.later('mail')
      await tx.session.abortTransaction()
      if (again) tx.session.startTransaction()
      if (again) await onMongo.apply(tx, key)
    })
    expect(await send(handler, how)).toEqual([500, 'failed'])
    expect(String(lines[0]?.error)).toContain(problem)
    expect(await onMongo.messages()).toEqual([])
    expect(await onMongo.effects()).not.toHaveProperty([how])
  })

  it('keeps what a failed run left behind out of the next run', async () => {
    let runs = 0
    let left: Promise<unknown> | undefined
    const second = Promise.withResolvers<void>()
    const handler = start(onMongo.store, async ({ key }, tx) => {
      runs += 1
      if (runs > 1) {
        second.resolve()
        await left?.catch(() => undefined)
      } else {
        left = second.promise.then(() => onMongo.apply(tx, key))
        left.catch(() => undefined)
        const error = new MongoError('Another transaction was first')
        error.addErrorLabel('TransientTransactionError')
        throw error
      }
      await onMongo.apply(tx, key)
    })
    expect(await send(handler, 'left_1')).toEqual([200, undefined])
    expect(runs).toBe(2)
    expect(await onMongo.effects()).toMatchObject({ left_1: 1 })
    await expect(left).rejects.toThrow('session')
  })

  it('repeats transactions that MongoDB aborts because of others', async () => {
    await using client = new MongoClient(onMongo.url)
    await client.db().createCollection('counters')
    const counters = client.db().collection<{ _id: string; n: number }>('counters')
    await counters.insertOne({ _id: 'n', n: 0 })
    const handler = start(onMongo.store, async (_, { db, session }) => {
      await db.collection<{ _id: string }>('counters').updateOne({ _id: 'n' }, { $inc: { n: 1 } }, { session })
      await sleep(MEETING_MS)
    })
    expect(new Set(await sendAll(handler, 'aborted'))).toEqual(new Set([200]))
    expect((await counters.findOne())?.n).toBe(27)
  })

  // The driver itself repeats a commit once.
  it.each([
    ['its connection breaks', 3, { closeConnection: true }],
    ['its primary steps down', 3, { errorCode: 189 }],
    ['MongoDB no longer knows its transaction', 1, { errorCode: 251, errorLabels: ['TransientTransactionError'] }],
    ['it has committed, but no majority confirms it', 3, { writeConcernError: { code: 64, errmsg: 'timed out' } }],
  ])('has one effect and says so if at the commit %s', async (problem, times, how) => {
    const appName = 'failing-commits'
    await using client = await new MongoClient(onMongo.url, { appName }).connect()
    const handler = start(mongo(client), async ({ key }, { db, session }) => {
      await db.collection('effects').insertOne({ key }, { session })
    })
    {
      const commands = ['commitTransaction']
      await using _ = await armFailPoint(new Secret(onMongo.url), { commands, appName, times, how })
      expect(await send(handler, problem)).toEqual([200, undefined])
    }
    expect(await onMongo.effects()).toHaveProperty([problem], 1)
    expect(await send(handler, problem)).toEqual([200, undefined])
    expect(await onMongo.effects()).toHaveProperty([problem], 1)
  })
})
