import { POSTGRES_SCHEMA } from './postgres-schema.ts'

const TABLES = ['oncehook_keys', 'oncehook_outbox'] as const

/** Creates the tables and indexes if a table is missing. Returns a line for each table. */
export async function setUpPostgres(url: string): Promise<readonly string[]> {
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
    // On tables in use, it would keep writers waiting.
    if (missing.size > 0) await client.query(POSTGRES_SCHEMA)
    await client.query('commit')
    return TABLES.map((name) => (missing.has(name) ? `Created the table ${name}` : `The table ${name} exists`))
  } finally {
    await client.end()
  }
}
