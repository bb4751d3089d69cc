import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { requireTool } from '../../../../scripts/tools/find-tool.ts'
import { type PostgresServer, startPostgres } from '../../../../test/support/postgres/postgres-server.ts'
import { OUTBOX_INDEXES, POSTGRES_TABLES } from '../postgres/postgres-schema.ts'
import { setUpPostgres } from '../postgres/set-up-postgres.ts'

const NEW = 'oncehook_outbox_name_due_at'
const EXIST = ['The table oncehook_keys exists', 'The table oncehook_outbox exists']
const CREATED = `Created the index ${NEW}`
const BLOCKED = [`The index ${NEW} waits for a long transaction: run init again`]
const INSERT =
  "insert into oncehook_outbox (handler, name, key, payload) values ('billing', 'mail', 'billing:1:1', 'null')"

const stack = new AsyncDisposableStack()
let server: PostgresServer
beforeAll(async () => {
  server = stack.use(await startPostgres(await requireTool('postgresql')))
})
afterAll(() => stack.disposeAsync())

/** A database that lacks an index, with a message, and a connection to it. */
async function openIncomplete({ task }: TestContext) {
  const url = await server.createDatabase(`test_${task.id.replaceAll(/\W/g, '_')}`)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  stack.defer(() => client.end())
  await client.query(POSTGRES_TABLES)
  const { [NEW]: _, ...kept } = OUTBOX_INDEXES
  for (const [name, on] of Object.entries(kept)) await client.query(`create index ${name} on ${on}`)
  await client.query(INSERT)
  const indexes = async (): Promise<readonly string[]> => {
    const { rows } = await client.query(`select relname, indisvalid from pg_index
      join pg_class on pg_class.oid = indexrelid where indrelid = 'oncehook_outbox'::regclass order by relname`)
    return rows.map(({ relname, indisvalid }) => (indisvalid ? relname : `${relname} (invalid)`))
  }
  return { url, client, indexes }
}

const ALL = [...Object.keys(OUTBOX_INDEXES), 'oncehook_outbox_pkey'].toSorted()

describe('tables in use in PostgreSQL', () => {
  it('get a missing index, even if two commands run at once', async (context) => {
    const { url, indexes } = await openIncomplete(context)
    const both = await Promise.all([setUpPostgres(url), setUpPostgres(url)])
    expect(both.toSorted((one, other) => one.length - other.length)).toEqual([EXIST, [...EXIST, CREATED]])
    expect(await indexes()).toEqual(ALL)
  })

  it('stay usable while an open transaction delays the index, and get it at the next command', async (context) => {
    const { url, client, indexes } = await openIncomplete(context)
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
    expect(await indexes()).toEqual([...ALL.filter((name) => name !== NEW), `${NEW} (invalid)`].toSorted())
    expect(await setUpPostgres(url)).toEqual([...EXIST, CREATED])
    expect(await indexes()).toEqual(ALL)
  })

  it('are left to another command that builds', async (context) => {
    const { url, client, indexes } = await openIncomplete(context)
    await client.query("select pg_advisory_lock(hashtext('oncehook_handler_indexes'))")
    expect(await setUpPostgres(url, 200)).toEqual([...EXIST, 'Another command builds the indexes'])
    expect(await indexes()).not.toContain(NEW)
  })
})
