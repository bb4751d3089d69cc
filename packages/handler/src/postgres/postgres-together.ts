import { inTime, runWork } from '../run-work.ts'
import { type NewMessage, StoreUnavailable, type Task, type TaskResult, TaskTimedOut } from '../store.ts'
import type { PostgresTransaction } from './postgres.ts'
import { isSerializationFailure, type PostgresClient } from './postgres-client.ts'
import {
  begin,
  openTransaction,
  outcomeOf,
  type PostgresRun,
  resultOf,
  storeMessages,
  withClient,
} from './postgres-once.ts'

/*
 * Many tasks in one transaction. Only those whose key is new take part, and their functions run one after the other, each in a
 * savepoint. A function that fails is left for a transaction of its own, which then says why. If the transaction breaks, or a function
 * takes too long, nothing of it remains.
 */

// A `commit` of a function would keep the keys of events whose function has not run. PostgreSQL reads a cursor that is to be held before
// it commits, and fails at this one. After a `rollback` of a function, the cursor is gone, and closing it fails.
const GUARD = 'declare oncehook_guard cursor with hold for select 1 / (random() * 0)::int'
const COMMIT = 'close oncehook_guard; commit'

// In their order, so that two batches do not wait for each other.
const CLAIM = `insert into oncehook_keys (handler, key, outcome, body_hash, expires_at)
  select $1, key, outcome, body_hash, now() + make_interval(secs => $2)
  from unnest($3::text[], $4::text[], $5::text[]) as task (key, outcome, body_hash)
  on conflict do nothing returning key`
const LEAVE = 'delete from oncehook_keys where handler = $1 and key = any($2)'

const SAVE = 'savepoint oncehook_event'
const KEEP = `release ${SAVE}; ${SAVE}`
const DROP = `rollback to ${SAVE}`

/**
 * Does the work of tasks of one handler in one transaction, for at most `mostMs`. Resolves to the results of those that are committed.
 * @throws if nothing is known to be committed
 */
export function runTogether<Client extends PostgresClient>(
  { pool, isolation }: Pick<PostgresRun<Client>, 'pool' | 'isolation'>,
  tasks: readonly Task<PostgresTransaction<Client>>[],
  mostMs: number,
): Promise<ReadonlyMap<Task<never>, TaskResult>> {
  // Then no more functions begin. A statement has no more time either, so that a slow one concerns its own event only.
  const halfMs = Math.ceil(mostMs / 2)
  return withClient(pool, halfMs, async (client) => {
    const endsAt = performance.now() + mostMs
    const leftMs = (): number => Math.max(1, endsAt - performance.now())
    const limits = { lockMs: halfMs, statementMs: halfMs, idleMs: 5 * mostMs }
    await inTime(client.query(`${begin(isolation, limits)}; ${GUARD}`), leftMs())
    const claimed = await inTime(claimKeys(client, tasks), leftMs())
    await inTime(client.query(SAVE), leftMs())
    const made = new Map<Task<never>, readonly NewMessage[]>()
    for (const task of claimed) {
      if (leftMs() < halfMs) break
      const messages = await tryWork(client, task, leftMs)
      if (messages !== null) made.set(task, messages)
    }
    const left = claimed.filter((task) => !made.has(task)).map(({ key }) => key)
    if (left.length > 0) await inTime(client.query(LEAVE, [tasks[0]?.handler, left]), leftMs())
    await inTime(storeMessages(client, made), leftMs())
    await inTime(client.query(COMMIT), leftMs())
    return new Map(Array.from(made, ([task, messages]) => [task, resultOf(task, messages)]))
  })
}

/** Inserts the keys. Returns the tasks whose key is new. */
async function claimKeys<Tx>(client: PostgresClient, tasks: readonly Task<Tx>[]): Promise<readonly Task<Tx>[]> {
  const [first] = tasks
  if (first === undefined) return []
  const sorted = tasks.toSorted((one, other) => Number(one.key > other.key) - Number(one.key < other.key))
  const { rows } = await client.query(CLAIM, [
    ...[first.handler, first.keepMs / 1_000],
    ...[sorted.map(({ key }) => key), sorted.map(({ work }) => outcomeOf(work)), sorted.map((task) => task.bodyHash)],
  ])
  const claimed = new Set((rows as { readonly key: string }[]).map(({ key }) => key))
  // Of two tasks with the same key, the first was inserted.
  return tasks.filter(({ key }) => claimed.delete(key))
}

/**
 * Does the work of a task in a savepoint. Returns its messages, or null if it failed: then nothing of it remains.
 * @throws if nothing of the transaction can remain
 */
async function tryWork<Client extends PostgresClient>(
  client: Client,
  task: Task<PostgresTransaction<Client>>,
  leftMs: () => number,
): Promise<readonly NewMessage[] | null> {
  try {
    const limited = { ...task, timeoutMs: Math.min(task.timeoutMs, leftMs()) }
    const messages = await runWork(limited, (shared, assertOpen) => openTransaction(client, { ...shared, assertOpen }))
    await inTime(client.query(KEEP), leftMs())
    return messages
  } catch (error) {
    const isOver = error instanceof TaskTimedOut || error instanceof StoreUnavailable || isSerializationFailure(error)
    if (isOver) throw error
    await inTime(client.query(DROP), leftMs())
    return null
  }
}
