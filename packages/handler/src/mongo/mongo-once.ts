import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '@oncehook/kernel/backoff'
import { inTime } from '../in-time.ts'
import { StoreUnavailable, type Task, type TaskResult } from '../store.ts'
import type { MongoTransaction } from './mongo.ts'
import { hasLabel, KeyHeld, type MongoRun, transact } from './mongo-transaction.ts'

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
  if (known.outcome === 'done' && known.bodyHash !== task.bodyHash) {
    await ask(keys.updateOne({ _id }, { $inc: { conflicts: 1 } }), task.waitMs)
    return { outcome: 'conflict' }
  }
  if (known.outcome === 'unhandled' && task.work !== null) return null
  return { outcome: known.outcome, repeated: true, messages: 0 }
}

/** @throws StoreUnavailable if the database fails, or does not answer in time */
async function ask<T>(asked: Promise<T>, ms: number): Promise<T> {
  return inTime(asked, ms).catch((error: unknown) => {
    throw error instanceof StoreUnavailable ? error : new StoreUnavailable(error)
  })
}
