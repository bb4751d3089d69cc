import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, withTimeout } from '@oncehook/kernel/time/waits'
import type { ClientSession, Collection, Db, MongoClient, MongoError } from 'mongodb'
import { inTime, LIMITS_MS, runWork } from '../run-work.ts'
import { StoreUnavailable, type Task, type TaskResult } from '../store.ts'
import type { MongoTransaction } from './mongo.ts'
import type { KeyDocument } from './mongo-documents.ts'
import { storeMessages } from './mongo-outbox.ts'

const MAX_REPETITIONS = 6
const PAUSE = { baseMs: 25, capMs: 1_000 }

/**
 * Does the work of a task once. Waits for another transaction that holds the key, and repeats a transaction that failed because
 * of another one, a few times.
 * @throws StoreUnavailable, TaskTimedOut, or what the work throws
 */
export async function runOnce(run: MongoRun, task: Task<MongoTransaction>): Promise<TaskResult> {
  const startedAt = performance.now()
  let repetitions = 0
  for (let turn = 0; ; turn += 1) {
    const known = await readKey(run, task)
    if (known !== null) return known
    try {
      return await transact(run, task)
    } catch (error) {
      const isHeld = error instanceof KeyHeld
      if (isHeld && performance.now() - startedAt > task.waitMs) return { outcome: 'busy' }
      if (!isHeld) repetitions = nextRepetition(error, repetitions)
    }
    await sleep(backoffMs(PAUSE, turn, run.random))
  }
}

/** Counts a repetition. Throws unless the transaction that failed may succeed then. */
function nextRepetition(error: unknown, repetitions: number): number {
  if (!hasLabel(error, 'TransientTransactionError')) throw error
  // A function that hides that an operation failed fails each time: MongoDB has aborted its transaction before the commit.
  if (repetitions === MAX_REPETITIONS) throw new Error('The transaction failed too often', { cause: error })
  return repetitions + 1
}

/** The result of a task whose key is known; null if its work is to be done. */
async function readKey({ keys }: MongoRun, task: Task<never>): Promise<TaskResult | null> {
  const _id = { handler: task.handler, key: task.key }
  const known = await ask(keys.findOne({ _id }), task.waitMs)
  if (known === null) return null
  if (known.outcome === 'done' && known.bodyHash !== task.bodyHash) return { outcome: 'conflict' }
  if (known.outcome === 'unhandled' && task.work !== null) return null
  return { outcome: known.outcome, repeated: true, messages: 0 }
}

/** @throws StoreUnavailable if the database fails, or does not answer in time */
async function ask<T>(asked: Promise<T>, ms: number): Promise<T> {
  return inTime(asked, ms).catch((error: unknown) => {
    throw error instanceof StoreUnavailable ? error : new StoreUnavailable(error)
  })
}

export interface MongoRun {
  readonly client: MongoClient
  readonly db: Db
  readonly keys: Collection<KeyDocument>
  readonly now: () => number
  readonly random: () => number
}

/** Another transaction holds the key, or has just committed it. */
class KeyHeld extends Error {}

const COMMIT_PAUSE_MS = 100
const OPTIONS = {
  readConcern: { level: 'snapshot' },
  writeConcern: { w: 'majority', journal: true },
  readPreference: 'primary',
  maxCommitTimeMS: LIMITS_MS.commit,
} as const

/**
 * Does the work of a task in one transaction. Its session is its own: what the function has left running cannot use the session of
 * a later run.
 * @throws KeyHeld, StoreUnavailable, TaskTimedOut, or what the work throws
 */
async function transact(run: MongoRun, task: Task<MongoTransaction>): Promise<TaskResult> {
  const { client, db, now } = run
  const session = client.startSession()
  session.startTransaction(OPTIONS)
  session.startTransaction = refuseAnother
  const claiming = claimKey(run, task, session)
  try {
    await inTime(claiming, task.waitMs + LIMITS_MS.margin)
    const messages = await runWork(task, (shared) => ({ ...shared, db, session }))
    if (!session.inTransaction()) throw new Error('The function ended the transaction itself: throw a Refusal instead')
    await inTime(storeMessages(db, task, { messages, session, at: now() }), LIMITS_MS.commit)
    await inTime(commit(session), LIMITS_MS.commit)
    return { outcome: task.work === null ? 'unhandled' : 'done', repeated: false, messages: messages.length }
  } finally {
    await withTimeout(end(session, claiming), LIMITS_MS.rollback)
  }
}

/**
 * Ends a session. This aborts a transaction that was not committed. An operation that a late function still runs delays this. Before
 * the first answer, the driver does not know that there is something to abort.
 */
async function end(session: ClientSession, claiming: Promise<void>): Promise<void> {
  await claiming.catch(() => undefined)
  await session.endSession().catch(() => undefined)
}

function refuseAnother(): never {
  throw new Error('The function must not begin a transaction in the session of the handler')
}

/** Whether an error has a label. Labels say what to do after an error. */
function hasLabel(error: unknown, label: 'TransientTransactionError' | 'UnknownTransactionCommitResult'): boolean {
  // The program brings the driver, so its classes cannot be imported.
  const { hasErrorLabel } = Object(error) as Partial<MongoError>
  return hasErrorLabel?.call(error, label) === true
}

/**
 * Repeats a commit whose result is unknown for some time.
 * @throws StoreUnavailable if the result stays unknown: a redelivery finds the key, or has the effect
 */
async function commit(session: ClientSession): Promise<void> {
  const startedAt = performance.now()
  for (;;) {
    try {
      return await session.commitTransaction()
    } catch (error) {
      if (!hasLabel(error, 'UnknownTransactionCommitResult')) throw error
      if (performance.now() - startedAt > LIMITS_MS.commit) throw new StoreUnavailable(error)
      await sleep(COMMIT_PAUSE_MS)
    }
  }
}

const HELD: readonly unknown[] = [11_000, 112]

/**
 * Inserts the key. An unhandled event becomes done when there is a function for it.
 * @throws KeyHeld, StoreUnavailable
 */
async function claimKey({ keys, now }: MongoRun, task: Task<never>, session: ClientSession): Promise<void> {
  const { handler, key, bodyHash, keepMs, work } = task
  const _id = { handler, key }
  const outcome = work === null ? 'unhandled' : 'done'
  const at = now()
  const set = { outcome, bodyHash, expiresAt: new Date(at + keepMs) } as const
  try {
    if (work !== null) {
      const changed = await keys.updateOne({ _id, outcome: 'unhandled' }, { $set: set }, { session })
      if (changed.matchedCount === 1) return
    }
    await keys.insertOne({ _id, ...set, createdAt: new Date(at) }, { session })
  } catch (error) {
    if (error instanceof Error && 'code' in error && HELD.includes(error.code)) throw new KeyHeld()
    throw new StoreUnavailable(error)
  }
}
