import { buildIndexes } from './build-indexes.ts'
import { POSTGRES_SCHEMA, POSTGRES_TABLES } from './postgres-schema.ts'

const TABLES = ['oncehook_keys', 'oncehook_outbox'] as const
const WAIT_MS = 10_000

/**
 * Creates the tables and indexes that are missing. Returns a line for each table, and for each index that a table in use gets. For
 * each of these, it waits at most `waitMs` for the transactions of others.
 */
export async function setUpPostgres(url: string, waitMs = WAIT_MS): Promise<readonly string[]> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    await client.query('begin')
    // Two commands at once would both create the tables.
    await client.query("select pg_advisory_xact_lock(hashtext('oncehook_handler_init'))")
    const { rows } = await client.query<{ name: string }>(
      'select name from unnest($1::text[]) as name where to_regclass(name) is null',
      [TABLES],
    )
    const missing = new Set(rows.map(({ name }) => name))
    const isInUse = !missing.has('oncehook_outbox')
    await client.query(isInUse ? POSTGRES_TABLES : POSTGRES_SCHEMA)
    await client.query('commit')
    const lines = TABLES.map((name) => (missing.has(name) ? `Created the table ${name}` : `The table ${name} exists`))
    return isInUse ? [...lines, ...(await buildIndexes(client, waitMs))] : lines
  } finally {
    await client.end()
  }
}
