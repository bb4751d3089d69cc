import pg from 'pg'
import { requireTool } from '../../../scripts/tools/find-tool.ts'
import { startPostgres } from '../../../test/support/postgres/postgres-server.ts'

/** A PostgreSQL that stores payments. */
export interface PaymentsDatabase extends AsyncDisposable {
  readonly url: string
  /** Returns those of the ids of which there is exactly one payment. */
  paidOnce(eventIds: readonly string[]): Promise<Set<string>>
}

// Unlike tests, a measurement must not lose what was committed. All other settings are PostgreSQL's defaults.
const DURABLE_SERVER: readonly string[] = []

/** Starts a server with a table for payments and one for keys. */
export async function startPaymentsDatabase(): Promise<PaymentsDatabase> {
  const programs = await requireTool('postgresql')
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startPostgres(programs, DURABLE_SERVER))
  const pool = stack.adopt(new pg.Pool({ connectionString: server.url }), (open) => open.end())
  await pool.query('create table payments (event_id text not null, payment_id text not null)')
  await pool.query('create table keys (key text primary key)')
  const kept = stack.move()
  return {
    url: server.url,
    async paidOnce(eventIds) {
      const text = 'select event_id from payments where event_id = any($1) group by event_id having count(*) = 1'
      const { rows } = await pool.query<{ event_id: string }>(text, [eventIds])
      return new Set(rows.map(({ event_id: id }) => id))
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
