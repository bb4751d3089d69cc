import { readFileSync } from 'node:fs'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { requireTool } from '../../../../scripts/tools/find-tool.ts'
import { type PostgresServer, startPostgres } from '../../../../test/support/postgres/postgres-server.ts'
import { setUpMongo } from '../mongo/set-up-mongo.ts'
import { OUTBOX_INDEXES, POSTGRES_TABLES } from '../postgres/postgres-schema.ts'
import { setUpPostgres } from '../postgres/set-up-postgres.ts'

const OLD = 'oncehook_outbox_due_at'
const NEW = 'oncehook_outbox_name_due_at'
const EXIST = ['The table oncehook_keys exists', 'The table oncehook_outbox exists']
const CHANGED = [`Created the index ${NEW}`, `Removed the index ${OLD}`]
const BLOCKED = [`The index ${NEW} waits for a long transaction: run init again`]
const INSERT =
  "insert into oncehook_outbox (handler, name, key, payload) values ('billing', 'mail', 'billing:1:1', 'null')"

const stack = new AsyncDisposableStack()
let server: PostgresServer
beforeAll(async () => {
  server = stack.use(await startPostgres(await requireTool('postgresql')))
})
afterAll(() => stack.disposeAsync())

/** A database as an earlier version has set it up, with a message, and a connection to it. */
async function openEarlier({ task }: TestContext) {
  const url = await server.createDatabase(`test_${task.id.replaceAll(/\W/g, '_')}`)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  stack.defer(() => client.end())
  await client.query(POSTGRES_TABLES)
  const { [NEW]: _, ...kept } = OUTBOX_INDEXES
  const earlier = { ...kept, [OLD]: 'oncehook_outbox (handler, due_at) where dead_at is null' }
  for (const [name, on] of Object.entries(earlier)) await client.query(`create index ${name} on ${on}`)
  await client.query(INSERT)
  const indexes = async (): Promise<readonly string[]> => {
    const { rows } = await client.query(`select relname, indisvalid from pg_index
      join pg_class on pg_class.oid = indexrelid where indrelid = 'oncehook_outbox'::regclass order by relname`)
    return rows.map(({ relname, indisvalid }) => (indisvalid ? relname : `${relname} (invalid)`))
  }
  return { url, client, indexes }
}

const ALL = [...Object.keys(OUTBOX_INDEXES), 'oncehook_outbox_pkey'].toSorted()

describe('tables of an earlier version in PostgreSQL', () => {
  it('get the new index and lose the old one, even if two commands run at once', async (context) => {
    const { url, indexes } = await openEarlier(context)
    const both = await Promise.all([setUpPostgres(url), setUpPostgres(url)])
    expect(both.toSorted((one, other) => one.length - other.length)).toEqual([EXIST, [...EXIST, ...CHANGED]])
    expect(await indexes()).toEqual(ALL)
  })

  it('stay usable while an open transaction delays the index, and get it at the next command', async (context) => {
    const { url, client, indexes } = await openEarlier(context)
    await client.query('begin')
    await client.query(INSERT)
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    stack.defer(() => other.end())
    const setUp = setUpPostgres(url, 1_000)
    const waiting = "select 1 from pg_stat_activity where query like 'create index%' and wait_event_type = 'Lock'"
    await expect.poll(async () => (await other.query(waiting)).rows).toHaveLength(1)
    await other.query(`set statement_timeout = 500; ${INSERT}`)
    expect(await setUp).toEqual([...EXIST, ...BLOCKED])
    await client.query('commit')
    expect(await indexes()).toEqual([...ALL, OLD, `${NEW} (invalid)`].filter((name) => name !== NEW).toSorted())
    expect(await setUpPostgres(url)).toEqual([...EXIST, ...CHANGED])
    expect(await indexes()).toEqual(ALL)
  })

  it('are left to another command that builds', async (context) => {
    const { url, client, indexes } = await openEarlier(context)
    await client.query("select pg_advisory_lock(hashtext('oncehook_handler_indexes'))")
    expect(await setUpPostgres(url, 200)).toEqual([...EXIST, 'Another command builds the indexes'])
    expect(await indexes()).toContain(OLD)
  })

  it('keep the old index if it cannot be removed, and the command succeeds', async (context) => {
    const { url, client, indexes } = await openEarlier(context)
    await client.query(`create function refuse() returns event_trigger language plpgsql as $$ begin raise 'no removal'; end $$;
      create event trigger refusing on ddl_command_start when tag in ('DROP INDEX') execute function refuse()`)
    const lines = await setUpPostgres(url)
    expect(lines.slice(2)).toEqual([
      CHANGED[0],
      expect.stringContaining(`${OLD} is not needed any more, but cannot be`),
    ])
    expect(await indexes()).toEqual([...ALL, OLD].toSorted())
  })

  it('get the same index by the statements of the README', async (context) => {
    const { client, url, indexes } = await openEarlier(context)
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    const statements = Array.from(
      readme.matchAll(/^(?:create|drop) index concurrently .*(?:\n {2}.*)*;$/gm),
      ([one]) => one,
    )
    expect(statements).toHaveLength(2)
    for (const statement of statements) await client.query(statement)
    expect(await setUpPostgres(url)).toEqual(EXIST)
    expect(await indexes()).toEqual(ALL)
    const { rows } = await client.query('select pg_get_indexdef($1::regclass) as text', [NEW])
    expect(rows[0].text).toContain('(handler, name, due_at) WHERE (dead_at IS NULL)')
  })
})

describe('collections of an earlier version in MongoDB', () => {
  it('get the new index and lose the old one', async () => {
    const { uri, name, db } = stack.use(await testDatabase(process.env))
    const url = new URL(uri.reveal())
    url.pathname = name
    const outbox = db.collection('oncehook_outbox')
    await outbox.createIndex({ handler: 1, dead: 1, dueAt: 1 })
    await outbox.createIndex({ handler: 1, dead: 1, createdAt: 1 })
    expect(await setUpMongo(url.href)).toContain('Removed the index handler_1_dead_1_dueAt_1')
    expect((await outbox.indexes()).map(({ key }) => Object.keys(key).join())).toEqual(
      expect.arrayContaining(['_id', 'handler,dead,createdAt', 'handler,dead,name,dueAt']),
    )
    expect(await outbox.indexes()).toHaveLength(3)
    expect(await setUpMongo(url.href)).toEqual([
      'The collection oncehook_keys exists',
      'The collection oncehook_outbox exists',
    ])
  })
})
