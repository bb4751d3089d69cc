import { randomUUID } from 'node:crypto'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { createMongoConnection } from '@oncehook/kernel/mongo/mongo-connection'
import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Collection, CommandStartedEvent, Db, Document } from 'mongodb'
import { expect } from 'vitest'
import { type Claim, type ClaimOptions, toClaim } from '../claim/claim.ts'
import { type Claims, createClaims } from '../claim/claims.ts'
import { Steadiness } from '../claim/steadiness.ts'
import { insertTasks } from '../insert/insert.ts'
import { EVENTS, TASK_INDEXES, type TaskDocument } from '../task.ts'
import { type AttemptResult, insertClaimed, insertPending, type NewState, type Settlement } from '../transitions.ts'
import { CLAIM_OPTIONS, LASTS_MS, sampleTask } from './sample-task.ts'

/** An attempt that applied the event. */
export const applied: AttemptResult = { ms: 5, outcome: 'applied', code: null, message: null }
/** An attempt that failed: a later one may succeed. */
export const failed: AttemptResult = { ms: 5, outcome: 'deferred', code: 'unavailable', message: 'Not now' }
/** The settlement of an event that was applied. */
export const done: Settlement = { state: 'done', outcome: { kind: 'applied', version: 2 } }

/** The settlement of an event that is tried again after this wait, in milliseconds. */
export function again(delayMs = 0): Extract<Settlement, { state: 'pending' }> {
  return { state: 'pending', delayMs, waited: delayMs, waitedFor: { code: 'unavailable', ms: delayMs } }
}

const STEADY = new Steadiness(
  0,
  () => performance.now(),
  async () => undefined,
)

/** The queue of one process on a test database. A test can see everything that it does. */
export interface OpenQueue extends AsyncDisposable {
  readonly database: TestDatabase
  /** The connection under test. Fail points refer to it by `appName`. */
  readonly db: Db
  readonly appName: string
  readonly events: Collection<TaskDocument>
  /** Every command that was sent to the server over the connection under test. */
  readonly commands: CommandStartedEvent[]
  /** The time of the database's clock, in milliseconds. */
  readonly databaseNow: () => number
  /** Claims of a process: each call makes those of another one. */
  claims(options?: Partial<ClaimOptions>): Claims
  /** The record of an event. */
  record(eventId: string): Promise<TaskDocument>
}

/** Opens a queue on a test database. */
export async function openQueue(database: TestDatabase): Promise<OpenQueue> {
  const { logger } = memoryLogger()
  const appName = `queue-${randomUUID()}`
  const connection = createMongoConnection({
    ...{ uri: database.uri, database: database.name, appName, maxPoolSize: 8, logger },
    monitorCommands: true,
  })
  await connection.open((db) => ensureIndexes(db, [{ collection: EVENTS, indexes: TASK_INDEXES }]))
  const { db, databaseNow } = connection
  const commands: CommandStartedEvent[] = []
  connection.client.on('commandStarted', (event) => commands.push(event))
  const events = database.db.collection<TaskDocument>(EVENTS)
  return {
    ...{ database, db, appName, events, commands, databaseNow },
    claims: (options) => createClaims({ ...CLAIM_OPTIONS, db, steadiness: STEADY, ...options }),
    async record(eventId) {
      const found = await events.findOne({ eventId })
      if (found === null) throw new Error(`There is no record of ${eventId}`)
      return found
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

/** Opens a queue with its own database. */
export async function openFreshQueue(env: NodeJS.ProcessEnv): Promise<OpenQueue> {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(env))
  const open = resources.use(await openQueue(database))
  const owned = resources.move()
  return { ...open, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Stores new tasks with one command. */
export async function storeTasks(
  { db }: Pick<OpenQueue, 'db'>,
  tasks: readonly (Pick<TaskDocument, 'eventId'> & Partial<TaskDocument>)[],
  state: NewState,
): Promise<TaskDocument[]> {
  const errors = { count: () => undefined, countReply: () => undefined }
  const documents = tasks.map(({ eventId, ...members }) => {
    const { settledAt: _, ...task } = sampleTask({ eventId, ...state, ...members })
    return { ...task, raw: `the body of ${eventId}` }
  })
  expect(await insertTasks(db, errors, documents)).toEqual(tasks.map(() => 'stored'))
  return documents
}

/** Stores tasks that are due at once and that no process holds. */
export async function storePending(open: OpenQueue, ids: readonly string[]): Promise<void> {
  const tasks = ids.map((eventId) => ({ eventId }))
  await storeTasks(open, tasks, insertPending(new Date(open.databaseNow())))
}

/** Stores a task that its process claims on insert. */
export async function storeClaimed(open: OpenQueue, eventId: string): Promise<Claim> {
  const state = insertClaimed(randomUUID(), new Date(open.databaseNow() + LASTS_MS))
  const [document = sampleTask()] = await storeTasks(open, [{ eventId }], state)
  return toClaim(document)
}

/** Changes a record with an update pipeline, so that times can be relative to the database's clock. */
export async function changeRecord({ db }: Pick<OpenQueue, 'db'>, eventId: string, stage: Document): Promise<void> {
  const { matchedCount } = await db.collection(EVENTS).updateOne({ eventId }, [stage])
  expect(matchedCount).toBe(1)
}

/** The time of the database, moved by some milliseconds, for an update pipeline. */
export function fromNow(ms: number): Document {
  return { $add: ['$$NOW', ms] }
}

/** The time of the clock of the database, in milliseconds. */
export async function serverNow({ db }: Pick<OpenQueue, 'db'>): Promise<number> {
  return (await db.command({ hello: 1 })).localTime.getTime()
}

/** Ends all claims, as if their processes had died. */
export async function endClaims({ db }: Pick<OpenQueue, 'db'>, filter: Document = {}): Promise<void> {
  const end = [{ $set: { dueAt: fromNow(-1) } }]
  const ended = await db.collection(EVENTS).updateMany({ state: 'processing', ...filter }, end)
  expect(ended.matchedCount).toBeGreaterThan(0)
}

/** Claims the one task that is due. */
export async function claimOne(claims: Claims): Promise<Claim> {
  const [claim] = await claims.claimDue(1)
  if (claim === undefined) throw new Error('Nothing was due')
  return claim
}

/** Takes over one task whose claim is made to end. */
export async function takeOverOne(open: OpenQueue, claims: Claims, eventId: string): Promise<Claim> {
  await endClaims(open, { eventId })
  const found = await claims.claimSuspects(null, 100)
  const claim = found.claims.find((one) => one.eventId === eventId)
  if (claim === undefined) throw new Error('Nothing was taken over')
  return claim
}

/** The ids of the events of some claims, in their order. */
export function idsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ eventId }) => eventId)
}
