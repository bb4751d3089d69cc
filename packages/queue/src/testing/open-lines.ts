import { ObjectId, Timestamp } from 'mongodb'
import { expect } from 'vitest'
import type { Claim } from '../claim/claim.ts'
import type { Claims } from '../claim/claims.ts'
import { insertPending, makeDueAgain, type Settlement } from '../transitions.ts'
import { applied, done, failed, idsOf, type OpenQueue, openFreshQueue, storeTasks } from './open-queue.ts'
import { HANDLER } from './sample-task.ts'

/** The task is tried again in a minute. */
export const later: Extract<Settlement, { state: 'pending' }> = {
  ...{ state: 'pending', delayMs: 60_000, waited: 60_000, waitedFor: { code: 'unavailable', ms: 60_000 } },
}
/** The task has failed permanently. */
export const dead: Settlement = { state: 'dead', reason: 'handler_refused' }
/** Who replays or closes, and why. */
export const REPLAY = { by: 'alice', reason: 'a test' }

/** A queue with its own database, and tasks of one handler in lines. */
export interface OpenLines extends AsyncDisposable {
  readonly open: OpenQueue
  /** Stores tasks one after the other, each in the line that its name begins with. */
  store(...ids: readonly string[]): Promise<void>
  /** Stores them from a process whose clock is behind. */
  storeBehind(ms: number, ...ids: readonly string[]): Promise<void>
  /** The claims of one process. */
  claims(blockOnDead?: boolean): Claims
}

/** Opens a queue with its own database. Every task is in the line that its name begins with. */
export async function openLines(env: NodeJS.ProcessEnv): Promise<OpenLines> {
  const open = await openFreshQueue(env)
  const store = async (behindMs: number, ids: readonly string[]): Promise<void> => {
    for (const eventId of ids) {
      const [line = ''] = eventId.split('-')
      // The server replaces an empty timestamp by the cluster time.
      const task = { eventId, line, lineAt: new Timestamp({ t: 0, i: 0 }) }
      await storeTasks(open, [task], insertPending(new Date(open.databaseNow() - behindMs)))
    }
  }
  return {
    open,
    store: (...ids) => store(0, ids),
    storeBehind: (ms, ...ids) => store(ms, ids),
    claims: (blockOnDead = false) => open.claims({ handler: HANDLER, ordering: { blockOnDead } }),
    [Symbol.asyncDispose]: () => open[Symbol.asyncDispose](),
  }
}

/** Settles claims, of which none was lost. */
export async function settleAll(claims: Claims, held: readonly Claim[], settlement = done): Promise<void> {
  const attempt = settlement.state === 'done' ? applied : failed
  expect(await claims.settle(held.map((claim) => ({ claim, settlement, attempt })))).toEqual([])
}

/** Settles what a process holds, which must be these events. */
export async function settleExactly(claims: Claims, held: readonly Claim[], ids: readonly string[]): Promise<void> {
  expect(idsOf(held)).toEqual(ids)
  await settleAll(claims, held)
}

/** Makes a task due again. */
export async function replayTask({ events }: OpenQueue, eventId: string): Promise<void> {
  await events.updateOne({ eventId }, makeDueAgain({ id: new ObjectId(), ...REPLAY }, {}))
}

/** Stores copies of a task in its line, behind it. */
export async function copyInLine({ events, record }: OpenQueue, eventId: string, count: number): Promise<void> {
  const { lineAt, ...first } = await record(eventId)
  if (lineAt === undefined) throw new Error('The task is in no line')
  const copies = Array.from({ length: count }, (_, index) => ({
    ...{ ...first, _id: new ObjectId(), eventId: `${eventId}-${index}` },
    lineAt: new Timestamp({ t: lineAt.t, i: lineAt.i + 1 + index }),
  }))
  await events.insertMany(copies)
}
