import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '@oncehook/kernel/time/waits'
import { inTime, LIMITS_MS, messageKey, runWork } from '../run-work.ts'
import {
  type KeyOutcome,
  type NewMessage,
  StoreUnavailable,
  type Task,
  type TaskResult,
  TaskTimedOut,
} from '../store.ts'
import type { PostgresTransaction } from './postgres.ts'
import {
  isFailedTransaction,
  isLockTimeout,
  isSerializationFailure,
  leaseClient,
  type PostgresClient,
  type PostgresPool,
} from './postgres-client.ts'

export const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const

export type Isolation = (typeof ISOLATIONS)[number]

export interface PostgresRun<Client extends PostgresClient> {
  readonly pool: PostgresPool<Client>
  readonly isolation: Isolation
  readonly random: () => number
}

const MAX_REPETITIONS = 6
const PAUSE = { baseMs: 25, capMs: 1_000 }

/**
 * Does the work of a task once. A transaction that PostgreSQL rolled back because of another one is repeated, a few times.
 * @throws StoreUnavailable, TaskTimedOut, or what the work throws
 */
export async function runOnce<Client extends PostgresClient>(
  run: PostgresRun<Client>,
  task: Task<PostgresTransaction<Client>>,
): Promise<TaskResult> {
  for (let repetition = 0; ; repetition += 1) {
    try {
      return await tryOnce(run, task)
    } catch (error) {
      if (repetition === MAX_REPETITIONS || !isSerializationFailure(error)) throw error
      await sleep(backoffMs(PAUSE, repetition, run.random))
    }
  }
}

function tryOnce<Client extends PostgresClient>(
  { pool, isolation }: PostgresRun<Client>,
  task: Task<PostgresTransaction<Client>>,
): Promise<TaskResult> {
  return withClient(pool, task.waitMs, async (client) => {
    const known = await inTime(claimKey(client, isolation, task), task.waitMs + LIMITS_MS.margin)
    if ('outcome' in known) {
      await inTime(client.query('rollback'), LIMITS_MS.commit)
      return known
    }
    const messages = await runWork(task, (shared, assertOpen) => openTransaction(client, { ...shared, assertOpen }))
    await inTime(assertSame(client, known), LIMITS_MS.commit)
    await inTime(storeMessages(client, new Map([[task, messages]])), LIMITS_MS.commit)
    await inTime(commit(client), LIMITS_MS.commit)
    return resultOf(task, messages)
  })
}

/** Uses a client of the pool. If that fails, an open transaction is rolled back. */
export async function withClient<Client extends PostgresClient, Result>(
  pool: PostgresPool<Client>,
  waitMs: number,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const { client, release } = await leaseClient(pool, waitMs)
  let isClean = false
  try {
    const result = await use(client)
    isClean = true
    return result
  } catch (error) {
    // A query may still be in progress: nothing could be sent after it in time.
    if (!(error instanceof TaskTimedOut || error instanceof StoreUnavailable)) isClean = await rollBack(client)
    throw error
  } finally {
    release(isClean ? undefined : 'destroy')
  }
}

/** The result of a task whose key this transaction has inserted. */
export function resultOf({ work }: Task<never>, { length }: readonly NewMessage[]): TaskResult {
  return { outcome: outcomeOf(work), repeated: false, messages: length }
}

export function outcomeOf(work: Task<never>['work']): KeyOutcome {
  return work === null ? 'unhandled' : 'done'
}

/** How long a transaction may wait for a lock, for a statement, and for this process. */
interface TransactionLimits {
  readonly lockMs: number
  readonly statementMs: number
  readonly idleMs: number
}

// The time limits end a transaction even if this process freezes: its key would stay locked.
export const begin = (isolation: Isolation, { lockMs, statementMs, idleMs }: TransactionLimits): string => `
  begin isolation level ${isolation};
  set local lock_timeout = ${lockMs};
  set local statement_timeout = ${statementMs};
  set local idle_in_transaction_session_timeout = ${idleMs}`

// An unhandled event becomes done when there is a function for it. The insert waits for a transaction that holds the key.
const CLAIM = `insert into oncehook_keys as known (handler, key, outcome, body_hash, expires_at)
  values ($1, $2, $3, $4, now() + make_interval(secs => $5))
  on conflict (handler, key) do update
  set outcome = excluded.outcome, body_hash = excluded.body_hash, expires_at = excluded.expires_at
  where known.outcome = 'unhandled' and excluded.outcome = 'done'
  returning txid_current()::text as transaction`

const READ = 'select outcome, body_hash from oncehook_keys where handler = $1 and key = $2'

interface KnownKey {
  readonly outcome: KeyOutcome
  readonly body_hash: string
}

interface Claimed {
  readonly transaction: string
}

/**
 * Begins a transaction that holds the key. Returns it if the work is to be done in it, otherwise the result of the task.
 * @throws StoreUnavailable
 */
async function claimKey(
  client: PostgresClient,
  isolation: Isolation,
  task: Task<never>,
): Promise<TaskResult | Claimed> {
  const { handler, key, bodyHash, keepMs, waitMs, timeoutMs, work } = task
  try {
    const statementMs = Math.max(waitMs, timeoutMs) + 1_000
    await client.query(begin(isolation, { lockMs: waitMs, statementMs, idleMs: timeoutMs + 5_000 }))
    const { rows: claimed } = await client.query(CLAIM, [handler, key, outcomeOf(work), bodyHash, keepMs / 1_000])
    const [transaction] = claimed as Claimed[]
    if (transaction !== undefined) return transaction
    const { rows } = await client.query(READ, [handler, key])
    const [known] = rows as KnownKey[]
    // It expired and was removed between the two statements.
    if (known === undefined) return { outcome: 'busy' }
    if (known.outcome === 'done' && known.body_hash !== bodyHash) return { outcome: 'conflict' }
    return { outcome: known.outcome, repeated: true, messages: 0 }
  } catch (error) {
    if (isLockTimeout(error)) return { outcome: 'busy' }
    if (isSerializationFailure(error)) throw error
    throw new StoreUnavailable(error)
  }
}

export function openTransaction<Client extends PostgresClient>(
  client: Client,
  {
    assertOpen,
    ...shared
  }: Pick<PostgresTransaction<Client>, 'later' | 'signal'> & { readonly assertOpen: () => void },
): PostgresTransaction<Client> {
  return {
    ...shared,
    client,
    async query(text, values) {
      assertOpen()
      return (await client.query(text, values)) as never
    },
  }
}

/**
 * Throws if the transaction of the key has ended. A function may have sent `commit` or `rollback`, itself or with the transactions
 * of a query builder. Then what follows would be stored although the effect may not be.
 */
async function assertSame(client: PostgresClient, { transaction }: Claimed): Promise<void> {
  const { rows } = await client.query('select txid_current_if_assigned()::text as transaction').catch(explainFailure)
  if ((rows as Partial<Claimed>[])[0]?.transaction !== transaction) {
    throw new Error('The function ended the transaction itself: throw a Refusal instead')
  }
}

function explainFailure(error: unknown): never {
  throw isFailedTransaction(error) ? new Error(FAILED, { cause: error }) : error
}

const FAILED = 'A query of the function failed, so PostgreSQL rolled the transaction back'

const STORE = `insert into oncehook_outbox (handler, name, key, payload)
  select $1, name, key, payload::json from unnest($2::text[], $3::text[], $4::text[]) as message (name, key, payload)`

export async function storeMessages(
  client: PostgresClient,
  made: ReadonlyMap<Task<never>, readonly NewMessage[]>,
): Promise<void> {
  const all = Array.from(made).flatMap(([task, messages]) =>
    messages.map(({ name, json }, index) => ({ handler: task.handler, name, key: messageKey(task, index + 1), json })),
  )
  const [first] = all
  if (first === undefined) return
  const columns = (['name', 'key', 'json'] as const).map((column) => all.map((message) => message[column]))
  await client.query(STORE, [first.handler, ...columns])
}

/** A failed query ends a transaction, even if the function caught its error: PostgreSQL answers the commit with a rollback. */
async function commit(client: PostgresClient): Promise<void> {
  const { command } = await client.query('commit')
  if (command !== 'COMMIT') throw new Error(FAILED)
}

/** Returns whether the connection can be used again. */
async function rollBack(client: PostgresClient): Promise<boolean> {
  return inTime(client.query('rollback'), LIMITS_MS.rollback).then(
    () => true,
    () => false,
  )
}
