import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '@oncehook/kernel/backoff'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'
import type { ClientSession, Collection, Db, MongoClient, MongoError } from 'mongodb'
import { runWork } from '../run-work.ts'
import { StoreUnavailable, type Task, type TaskResult } from '../store.ts'
import type { MongoTransaction } from './mongo.ts'
import type { KeyDocument } from './mongo-documents.ts'
import { storeMessages } from './mongo-outbox.ts'

/** Where and how tasks run. */
export interface MongoRun {
  readonly client: MongoClient
  readonly db: Db
  readonly keys: Collection<KeyDocument>
  readonly now: () => number
  readonly random: () => number
}

const MAX_REPETITIONS = 6
const PAUSE = { baseMs: 25, capMs: 1_000 }
const COMMIT_MS = 10_000

/**
 * Does the work of a task once. Waits for another transaction that holds the key, and repeats a transaction that failed because
 * of another one.
 * @throws StoreUnavailable, TaskTimedOut, or what the work throws
 */
export async function runOnce(run: MongoRun, task: Task<MongoTransaction>): Promise<TaskResult> {
  const startedAt = performance.now()
  for (let turn = 0; ; turn += 1) {
    const known = await readKey(run, task)
    if (known !== null) return known
    try {
      return await transact(run, task)
    } catch (error) {
      if (!(error instanceof KeyHeld)) throw error
      if (performance.now() - startedAt > task.waitMs) return { outcome: 'busy' }
      await sleep(backoffMs(PAUSE, turn, run.random))
    }
  }
}

/** The result of a task whose key is known; null if its work is to be done. */
async function readKey({ keys }: MongoRun, task: Task<never>): Promise<TaskResult | null> {
  const _id = { handler: task.handler, key: task.key }
  const known = await inTime(keys.findOne({ _id }), task.waitMs)
  if (known === null) return null
  if (known.bodyHash !== task.bodyHash) {
    await inTime(keys.updateOne({ _id }, { $inc: { conflicts: 1 } }), task.waitMs)
    return { outcome: 'conflict' }
  }
  if (known.outcome === 'unhandled' && task.work !== null) return null
  return { outcome: known.outcome, repeated: true, messages: 0 }
}

async function transact(
  { client, db, keys, now, random }: MongoRun,
  task: Task<MongoTransaction>,
): Promise<TaskResult> {
  let stored = 0
  const work = async (session: ClientSession, repetition: number): Promise<void> => {
    if (repetition > 0) await sleep(backoffMs(PAUSE, repetition, random))
    await claimKey(keys, task, { session, at: now() })
    const messages = await runWork(task, (shared) => ({ ...shared, db, session }))
    await storeMessages(db, task, { messages, session, at: now() })
    stored = messages.length
  }
  await client.withSession(async (session) => {
    let repetition = 0
    const options = {
      readConcern: { level: 'snapshot' },
      writeConcern: { w: 'majority', journal: true },
      readPreference: 'primary',
      maxCommitTimeMS: COMMIT_MS,
    } as const
    await session.withTransaction(async () => {
      try {
        await work(session, repetition)
      } catch (error) {
        repetition += 1
        if (repetition <= MAX_REPETITIONS || !isTransient(error)) throw error
        // The driver repeats what has the label of a transient error, for two minutes. This error has none.
        throw new Error('The transaction failed too often', { cause: error })
      }
    }, options)
  })
  return { outcome: task.work === null ? 'unhandled' : 'done', repeated: false, messages: stored }
}

function isTransient(error: unknown): boolean {
  const { hasErrorLabel } = Object(error) as Partial<MongoError>
  return hasErrorLabel?.call(error, 'TransientTransactionError') === true
}

/** Another transaction holds the key, or has just committed it. */
class KeyHeld extends Error {}

const HELD: readonly unknown[] = [11_000, 112]

interface Claim {
  readonly session: ClientSession
  readonly at: number
}

/**
 * Inserts the key. An unhandled event becomes done when there is a function for it.
 * @throws KeyHeld, StoreUnavailable
 */
async function claimKey(keys: Collection<KeyDocument>, task: Task<never>, { session, at }: Claim): Promise<void> {
  const { handler, key, bodyHash, keepMs, work } = task
  const _id = { handler, key }
  const outcome = work === null ? 'unhandled' : 'done'
  const set = { outcome, bodyHash, expiresAt: new Date(at + keepMs) } as const
  try {
    if (work !== null) {
      const changed = await keys.updateOne({ _id, outcome: 'unhandled', bodyHash }, { $set: set }, { session })
      if (changed.matchedCount === 1) return
    }
    await keys.insertOne({ _id, ...set, conflicts: 0, createdAt: new Date(at) }, { session })
  } catch (error) {
    if (error instanceof Error && 'code' in error && HELD.includes(error.code)) throw new KeyHeld()
    throw new StoreUnavailable(error)
  }
}

/** @throws StoreUnavailable if the database does not answer in time */
async function inTime<T>(asked: Promise<T>, ms: number): Promise<T> {
  const answer = await withTimeout(asked, ms).catch((cause: unknown) => {
    throw new StoreUnavailable(cause)
  })
  if (answer === TIMED_OUT) throw new StoreUnavailable(new Error(`It did not answer within ${ms} ms`))
  return answer as T
}
