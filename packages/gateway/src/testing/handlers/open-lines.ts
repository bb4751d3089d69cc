import type { Secret } from '@oncehook/kernel/secrets/secret'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { ObjectId, Timestamp } from 'mongodb'
import { expect } from 'vitest'
import type { Claim, Settlement } from '../../inbox/claims/claim.ts'
import type { Claims } from '../../inbox/claims/claims.ts'
import type { InboxDeps } from '../../inbox/inbox.ts'
import { makeDueAgain } from '../../inbox/transitions.ts'
import { applied, done, failed, idsOf } from '../open-fresh-inbox.ts'
import { type OpenInbox, openInbox, sampleArrival } from '../open-inbox.ts'

/** The handler whose tasks are in lines. */
export const HANDLER = 'billing'
/** The task is tried again in a minute. */
export const later: Extract<Settlement, { state: 'pending' }> = {
  ...{ state: 'pending', delayMs: 60_000, waited: 60_000, waitedFor: { code: 'unavailable', ms: 60_000 } },
}
/** The task has failed permanently. */
export const dead: Settlement = { state: 'dead', reason: 'handler_refused' }
/** Who replays or closes, and why. */
export const REPLAY = { by: 'alice', reason: 'a test' }

/** An inbox with its own database, and tasks of one handler in lines. */
export interface OpenLines extends AsyncDisposable {
  readonly open: OpenInbox
  /** The server, for fail points. */
  readonly uri: Secret
  /** How many tasks were announced as due. */
  readonly expected: () => number
  /** Stores tasks one after the other, each in the line that its name begins with. */
  store(...ids: readonly string[]): Promise<void>
  storeBy(open: OpenInbox, ...ids: readonly string[]): Promise<void>
  /** The inbox of another gateway. */
  another(deps: Partial<InboxDeps>): Promise<OpenInbox>
  /** The claims of one process. */
  claims(blockOnDead?: boolean): Claims
}

/** Opens an inbox with its own database. Every task is in the line that its name begins with. */
export async function openLines(env: NodeJS.ProcessEnv): Promise<OpenLines> {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(env))
  let expected = 0
  const taker = {
    ...{ admits: () => true, lastsMs: 30_000, take: () => expect.unreachable(), miss: () => undefined },
    expect() {
      expected += 1
    },
  }
  const handlers = { takerOf: () => taker }
  const open = resources.use(await openInbox(database, { handlers }))
  const owned = resources.move()
  return {
    ...{ open, uri: database.uri, expected: () => expected },
    store: (...ids) => store(open, ids),
    storeBy: (other, ...ids) => store(other, ids),
    another: (deps) => openInbox(database, { handlers, ...deps }),
    claims: (blockOnDead = false) => open.claims({ handler: HANDLER, ordering: { blockOnDead } }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function store({ inbox }: OpenInbox, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const event = { id, type: 'invoice.paid', objectId: 'in_1', facts: { orderId: '' } }
    const [line = ''] = id.split('-')
    const wantedBy = [{ handler: HANDLER, line }]
    expect(await inbox.record(sampleArrival(id, { event, wantedBy }))).toBe('recorded')
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
export async function replayTask({ events }: OpenInbox, eventId: string): Promise<void> {
  await events.updateOne({ eventId }, makeDueAgain({ id: new ObjectId(), ...REPLAY }, {}))
}

/** Stores copies of a task in its line, behind it. */
export async function copyInLine({ events, record }: OpenInbox, eventId: string, count: number): Promise<void> {
  const { lineAt, ...first } = await record(eventId)
  if (lineAt === undefined) throw new Error('The task is in no line')
  const copies = Array.from({ length: count }, (_, index) => ({
    ...{ ...first, _id: new ObjectId(), eventId: `${eventId}-${index}` },
    lineAt: new Timestamp({ t: lineAt.t, i: lineAt.i + 1 + index }),
  }))
  await events.insertMany(copies)
}
