import { HandlerSettingsError } from '../handler-options.ts'
import type { LaterTransaction, Store } from '../store.ts'
import { type PostgresClient, type PostgresPool, type PostgresResult, queryOnce } from './postgres-client.ts'
import { ISOLATIONS, type Isolation, runOnce } from './postgres-once.ts'
import { createPostgresOutbox } from './postgres-outbox.ts'
import { runTogether } from './postgres-together.ts'

/** The transaction that a function gets. Await everything: it is committed when the function returns. */
export interface PostgresTransaction<Client> extends LaterTransaction {
  /** Runs a query in the transaction. */
  query<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<PostgresResult<Row>>
  /** The client of the pool, for a query builder. Do not end the transaction with it. */
  readonly client: Client
}

/** How the transactions run. */
export interface PostgresOptions {
  /** Default: `read committed`. */
  readonly isolation?: Isolation
  /**
   * Whether the events of a batch share a transaction, with a savepoint for each. If not, what a function sets with `set local` never
   * applies to another event. Default: true.
   */
  readonly together?: boolean
}

/** The randomness of a store. */
export interface PostgresDeps {
  readonly random?: () => number
}

/**
 * Keeps keys, effects and messages in PostgreSQL. `pool` is a pool of `pg`. `npx @oncehook/handler init` creates the tables. A
 * connection that is lost while nobody uses it no longer ends the process: the pool replaces it.
 * @throws HandlerSettingsError if the isolation is unknown
 */
export function postgres<Client extends PostgresClient>(
  pool: PostgresPool<Client>,
  { isolation = 'read committed', together = true }: PostgresOptions = {},
  { random = Math.random }: PostgresDeps = {},
): Store<PostgresTransaction<Client>> {
  // It becomes a part of a statement.
  if (!ISOLATIONS.includes(isolation)) {
    throw new HandlerSettingsError([`isolation must be one of ${ISOLATIONS.join(', ')}`])
  }
  pool.on('error', () => undefined)
  return {
    once: (task) => runOnce({ pool, isolation, random }, task),
    ...(together && { onceTogether: (tasks, mostMs) => runTogether({ pool, isolation }, tasks, mostMs) }),
    outbox: createPostgresOutbox(pool),
    async ping() {
      await queryOnce(pool, 'select 1 from oncehook_keys, oncehook_outbox limit 0')
    },
    async removeExpired() {
      const { rowCount } = await queryOnce(pool, REMOVE_EXPIRED)
      return rowCount ?? 0
    },
  }
}

// A batch, so that no statement holds many locks for long. Rows that another process removes are skipped.
const REMOVE_EXPIRED = `delete from oncehook_keys where (handler, key) in (
  select handler, key from oncehook_keys where expires_at < now() order by expires_at limit 1000 for update skip locked
)`
