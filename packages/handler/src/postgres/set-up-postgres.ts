import { setTimeout as sleep } from 'node:timers/promises'
import { isLockTimeout, isSerializationFailure } from './postgres-client.ts'
import { OUTBOX_INDEXES, POSTGRES_SCHEMA, POSTGRES_TABLES } from './postgres-schema.ts'

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

/** A connection outside of a transaction. */
interface Connection {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

interface Found {
  readonly name: string
  /** With its schema, and quoted where needed. */
  readonly path: string
  /** False after a build that was cut off. */
  readonly valid: boolean
}

const LOCK = "hashtext('oncehook_handler_indexes')"
const ALONE_AGAIN_MS = 100

/**
 * Builds the indexes that a table in use lacks. Nobody waits for this. It waits for other transactions, at most `waitMs` for each.
 * Returns a line for each index, and for what could not be done yet: the handler works without it, but slower.
 */
async function buildIndexes(connection: Connection, waitMs: number): Promise<readonly string[]> {
  if (!(await becomeOnlyBuilder(connection, waitMs))) return ['Another command builds the indexes']
  try {
    await connection.query(`set lock_timeout = ${waitMs}`)
    return await buildAlone(connection)
  } finally {
    // Behind a pooler, the connection may serve others afterwards.
    await connection.query('reset lock_timeout').catch(() => undefined)
    await connection.query(`select pg_advisory_unlock(${LOCK})`).catch(() => undefined)
  }
}

/**
 * Two builds at once would wait for each other. So would a build and a statement that waits for its lock, because a build waits for
 * all statements that run.
 */
async function becomeOnlyBuilder(connection: Connection, waitMs: number): Promise<boolean> {
  const endsAt = performance.now() + waitMs
  for (;;) {
    const { rows } = await connection.query(`select pg_try_advisory_lock(${LOCK}) as held`)
    if ((rows as { held: boolean }[])[0]?.held) return true
    if (performance.now() > endsAt) return false
    await sleep(ALONE_AGAIN_MS)
  }
}

async function buildAlone(connection: Connection): Promise<readonly string[]> {
  const found = await findIndexes(connection)
  const lines: string[] = []
  for (const [name, on] of Object.entries(OUTBOX_INDEXES)) {
    const index = found.get(name)
    if (index?.valid) continue
    const isBuilt = await tryBuilding(connection, { name, on, cutOff: index })
    lines.push(isBuilt ? `Created the index ${name}` : `The index ${name} waits for a long transaction: run init again`)
    if (!isBuilt) return lines
  }
  return lines
}

async function findIndexes(connection: Connection): Promise<ReadonlyMap<string, Found>> {
  const { rows } = await connection.query(
    `select relname as name, indexrelid::regclass::text as path, indisvalid as valid
      from pg_index join pg_class on pg_class.oid = indexrelid
      where indrelid = to_regclass('oncehook_outbox')`,
  )
  return new Map((rows as Found[]).map((index) => [index.name, index]))
}

async function tryBuilding(
  connection: Connection,
  { name, on, cutOff }: { readonly name: string; readonly on: string; readonly cutOff: Found | undefined },
): Promise<boolean> {
  try {
    if (cutOff !== undefined) await connection.query(`drop index concurrently if exists ${cutOff.path}`)
    await connection.query(`create index concurrently if not exists ${name} on ${on}`)
    return true
  } catch (error) {
    if (isLockTimeout(error) || isSerializationFailure(error)) return false
    throw error
  }
}
