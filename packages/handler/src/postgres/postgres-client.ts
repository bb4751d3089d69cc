import { inTime } from '../run-work.ts'
import { StoreUnavailable } from '../store.ts'

export interface PostgresResult<Row = unknown> {
  readonly rows: Row[]
  readonly rowCount: number | null
  readonly command: string
}

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  /** Returns the client to the pool; `true` closes its connection. */
  release(destroy?: boolean): void
}

export interface PostgresPool<Client extends PostgresClient> {
  connect(): Promise<Client>
  /** Not used. TypeScript infers `Client` only if the overloads are those of `pg`. */
  connect(callback: never): void
  on(event: 'error', listener: (error: Error) => void): unknown
}

export interface LeasedClient<Client extends PostgresClient> {
  readonly client: Client
  /** Returns the client to its pool; `destroy` closes its connection, which rolls an open transaction back. */
  release(destroy?: 'destroy'): void
}

/**
 * Takes a client out of its pool. If its connection is lost meanwhile, its queries fail, but the process continues. A client that
 * comes too late is returned.
 * @throws StoreUnavailable if there is none within `waitMs`
 */
export async function leaseClient<Client extends PostgresClient>(
  pool: PostgresPool<Client>,
  waitMs: number,
): Promise<LeasedClient<Client>> {
  const connecting = pool.connect()
  let isLate = false
  const returnLate = (client: Client): void => (isLate ? client.release() : undefined)
  connecting.then(returnLate, () => undefined)
  const client = await inTime(connecting, waitMs).catch((error: unknown) => {
    isLate = true
    throw error instanceof StoreUnavailable ? error : new StoreUnavailable(error)
  })
  const ignore = (): void => undefined
  client.on('error', ignore)
  return {
    client,
    release(destroy) {
      if (destroy === undefined) client.off('error', ignore)
      client.release(destroy !== undefined)
    },
  }
}

const CONNECT_MS = 10_000
const QUERY_MS = 30_000

/**
 * Runs one query outside of a transaction.
 * @throws StoreUnavailable if there is no client or no answer in time, or what the database throws
 */
export async function queryOnce<Row>(
  pool: PostgresPool<PostgresClient>,
  text: string,
  values: unknown[] = [],
): Promise<PostgresResult<Row>> {
  const { client, release } = await leaseClient(pool, CONNECT_MS)
  try {
    const result = await inTime(client.query(text, values), QUERY_MS)
    release()
    return result as PostgresResult<Row>
  } catch (error) {
    release('destroy')
    throw error
  }
}

const IN_FAILED_TRANSACTION = '25P02'
const LOCK_NOT_AVAILABLE = '55P03'
const REPEATABLE = new Set(['40001', '40P01'])
const MAX_CHAIN = 8

/** Whether PostgreSQL rolled the transaction back because of another one, so that it may succeed when it is repeated. */
export function isSerializationFailure(error: unknown): boolean {
  return REPEATABLE.has(codeOf(error))
}

/** Whether a query waited too long for the lock of another transaction. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === LOCK_NOT_AVAILABLE
}

/** Whether a query was refused because an earlier one of its transaction failed. */
export function isFailedTransaction(error: unknown): boolean {
  return codeOf(error) === IN_FAILED_TRANSACTION
}

/** The code that PostgreSQL gave. Query builders put the error of `pg` into the cause of theirs. */
function codeOf(error: unknown): string {
  let candidate = error
  for (let depth = 0; depth < MAX_CHAIN && candidate instanceof Error; depth += 1) {
    if ('code' in candidate && typeof candidate.code === 'string' && /^[0-9A-Z]{5}$/.test(candidate.code)) {
      return candidate.code
    }
    candidate = candidate.cause
  }
  return ''
}
