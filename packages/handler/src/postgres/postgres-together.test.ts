import pg from 'pg'
import { afterAll, afterEach, expect, it, type TestContext } from 'vitest'
import { missingTool } from '../../../../scripts/tools/find-tool.ts'
import { createHandler, type EventFunction, type Handler, type LogLine, Refusal } from '../create-handler.ts'
import { SECRET, signedHeaders } from '../testing/signed-request.ts'
import { openPostgres } from '../testing/test-stores.ts'
import { type PostgresTransaction, postgres } from './postgres.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const onPostgres = stack.use(await openPostgres())
const under = ({ skip }: TestContext) => onPostgres ?? skip(missingTool('postgresql'))

const opened: Handler[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((handler) => handler.close()))
})

type Act = EventFunction<PostgresTransaction<pg.PoolClient>>
type Query = (text: string, run: () => Promise<unknown>) => Promise<unknown>

/** A store whose queries `query` is called for, and runs. */
function openStore(context: TestContext, query: Query = (_, run) => run()) {
  const pool = new pg.Pool({ connectionString: under(context).url, max: 20 })
  pool.on('connect', (client) => {
    const run = client.query.bind(client)
    client.query = ((text: string, values?: unknown[]) => query(text, () => run(text, values))) as typeof client.query
  })
  stack.defer(() => pool.end())
  return postgres(pool)
}

/** A handler of batches. */
function start(context: TestContext, act: Act, query?: Query) {
  const lines: LogLine[] = []
  const handler = createHandler({
    ...{ name: 'billing', store: openStore(context, query), secrets: SECRET, on: { 'invoice.paid': act } },
    ...{
      later: { mail: () => undefined },
      timeoutMs: 60_000,
      waitMs: 60_000,
      log: (line: LogLine) => lines.push(line),
    },
  })
  opened.push(handler)
  return {
    lines,
    /** The verdict on each event of a batch, `done` or why not. An id may be followed by what its body has. */
    async call(...events: readonly string[]): Promise<readonly string[]> {
      const listed = events.map((event) => {
        const [key, id] = event.split(' ')
        return { attempt: 1, key, type: 'invoice.paid', data: { id } }
      })
      const body = JSON.stringify({ handler: 'billing', events: listed })
      const request = { method: 'POST', headers: signedHeaders('batch_1', body), body }
      const answer = await handler.fetch(new Request('http://127.0.0.1/webhooks', request))
      const { results } = (await answer.json()) as { results: readonly { done?: true; refused?: string }[] }
      return results.map(({ done, refused }) => (done ? 'done' : String(refused)))
    },
  }
}

/** How many effects each event whose key starts like this has had, and what is known about it. */
async function kept(context: TestContext, start: string) {
  const of = (all: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => key.startsWith(start)))
  const messages = (await under(context).messages()).map(({ key }) => key)
  return {
    effects: of(await under(context).effects()),
    keys: of(await under(context).outcomes()),
    messages: messages.filter((key) => key.startsWith(`billing:${start}`)),
  }
}

/** Ends these connections, and waits until they are gone. */
async function endConnection(context: TestContext, pid: unknown): Promise<void> {
  const client = new pg.Client(under(context).url)
  await client.connect()
  await client.query('select pg_terminate_backend($1)', [pid])
  const left = async () => (await client.query('select 1 from pg_stat_activity where pid = $1', [pid])).rowCount
  await expect.poll(left).toBe(0)
  await client.end()
}

function taskOf(key: string, work: (tx: PostgresTransaction<pg.PoolClient>) => unknown) {
  const limits = { keepMs: 1e9, waitMs: 60_000, timeoutMs: 600_000, laterNames: new Set<string>() }
  return { handler: 'billing', key, bodyHash: 'a', ...limits, work }
}

it('acts on fifty events in one transaction, with two round trips for each that makes one query', async (context) => {
  const sent: string[] = []
  const query: Query = (text, run) => {
    sent.push(text)
    return run()
  }
  const keys = Array.from({ length: 50 }, (_, index) => `many_${index}`)
  const tasks = keys.map((key) => taskOf(key, (tx) => under(context).apply(tx, key)))
  const results = await openStore(context, query).onceTogether?.(tasks, 200_000)
  expect(results).toEqual(new Map(tasks.map((task) => [task, { outcome: 'done', repeated: false, messages: 0 }])))
  expect((await kept(context, 'many_')).effects).toEqual(Object.fromEntries(keys.map((key) => [key, 1])))
  expect(sent).toHaveLength(2 * 50 + 4)
})

it('gives each event of a batch its own verdict and effect, whatever becomes of the others', async (context) => {
  const { call } = start(context, async ({ key }, tx) => {
    await under(context).apply(tx, key)
    tx.later('mail')
    if (key === 'own_refused') throw new Refusal('never', 'The subscription is unknown')
    if (key === 'own_bug') throw new Error('A bug')
    if (key === 'own_hidden') await tx.query('select nothing').catch(() => undefined)
  })
  expect(await call('own_again', 'own_conflict a')).toEqual(['done', 'done'])
  const events = 'own_z,own_bug,own_refused,own_again,own_hidden,own_conflict b,own_twice,own_twice,own_a'.split(',')
  const said = await call(...events)
  expect(said).toEqual('done,failed,refused,done,failed,key_conflict,done,done,done'.split(','))
  const done = ['own_a', 'own_again', 'own_conflict', 'own_twice', 'own_z']
  expect(await kept(context, 'own_')).toEqual({
    effects: Object.fromEntries(done.map((key) => [key, 1])),
    keys: Object.fromEntries(done.map((key) => [key, 'done'])),
    messages: done.map((key) => `billing:${key}:1`),
  })
})

it.for(['commit', 'rollback', 'commit; begin', 'rollback; begin'])(
  'keeps a function that ends the transaction from the events beside it: %s',
  async (text, context) => {
    // None of these begins like another one.
    const id = `${text.replaceAll(/\W+/g, '_')}_ends`
    const act = async (key: string, tx: PostgresTransaction<pg.PoolClient>) => {
      await under(context).apply(tx, key)
      if (key.includes('culprit')) await tx.query(text).catch(() => undefined)
    }
    const keys = [`${id}_a`, `${id}_culprit`, `${id}_b`]
    const tasks = keys.map((key) => taskOf(key, (tx) => act(key, tx)))
    await expect(openStore(context).onceTogether?.(tasks, 200_000)).rejects.toThrow()
    expect(await kept(context, `${id}_`)).toEqual({ effects: {}, keys: {}, messages: [] })

    const { call, lines } = start(context, ({ key }, tx) => act(key, tx))
    expect(await call(...keys)).toEqual(['done', 'failed', 'done'])
    expect((await kept(context, `${id}_`)).effects).toMatchObject({ [`${id}_a`]: 1, [`${id}_b`]: 1 })
    expect(lines.at(-1)).toMatchObject({ level: 'error' })
  },
)

it('acknowledges nothing that a lost connection rolled back, and repeats nothing', async (context) => {
  let isLost = true
  const { call } = start(context, async ({ key }, tx) => {
    await under(context).apply(tx, key)
    const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
    if (isLost && key === 'lost_b') await endConnection(context, rows[0]?.pid)
  })
  expect(await call('lost_a', 'lost_b', 'lost_c')).toEqual(['done', 'failed', 'done'])
  const others = { effects: { lost_a: 1, lost_c: 1 }, keys: { lost_a: 'done', lost_c: 'done' } }
  expect(await kept(context, 'lost_')).toMatchObject(others)
  expect((await kept(context, 'lost_b')).keys).toEqual({})
  isLost = false
  expect(await call('lost_a', 'lost_b', 'lost_c')).toEqual(['done', 'done', 'done'])
  expect((await kept(context, 'lost_')).effects).toEqual({ lost_a: 1, lost_b: 1, lost_c: 1 })
})

it.for(['before', 'after'])('has each effect once if the connection is lost %s the commit', async (when, context) => {
  let pid: unknown
  const query: Query = async (text, run) => {
    if (!text.startsWith('close oncehook_guard')) return run()
    if (when === 'after') await run()
    await endConnection(context, pid)
    return run()
  }
  const act: Act = async ({ key }, tx) => {
    await under(context).apply(tx, key)
    pid ??= (await tx.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  }
  const { call, lines } = start(context, act, query)
  expect(await call(`${when}_a`, `${when}_b`)).toEqual(['done', 'done'])
  expect((await kept(context, when)).effects).toEqual({ [`${when}_a`]: 1, [`${when}_b`]: 1 })
  expect(lines.map(({ level }) => level)).toEqual(['warn'])
})

it('gives up on a function that hangs, and leaves nothing that the events beside it would wait for', async (context) => {
  const store = openStore(context)
  const of = (key: string, hangs: boolean) =>
    taskOf(key, async (tx) => {
      await under(context).apply(tx, key)
      if (hangs) await new Promise((resolve) => tx.signal.addEventListener('abort', resolve))
    })
  const [a, b, c] = [of('hang_a', false), of('hang_b', true), of('hang_c', false)]
  // On a machine that is so busy that the function does not even begin, nothing is done either.
  expect(await store.onceTogether?.([b, a, c], 1_000).catch(() => new Map())).toEqual(new Map())
  expect(await kept(context, 'hang_')).toEqual({ effects: {}, keys: {}, messages: [] })
  for (const task of [a, of('hang_b', false), c]) expect(await store.once(task)).toMatchObject({ repeated: false })
  expect((await kept(context, 'hang_')).effects).toEqual({ hang_a: 1, hang_b: 1, hang_c: 1 })
})
