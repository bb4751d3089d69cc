import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Document } from 'mongodb'
import { expect } from 'vitest'
import type { AttemptResult, Claim, Settlement } from '../inbox/claims/claim.ts'
import type { Claims } from '../inbox/claims/claims.ts'
import { type OpenInbox, openInbox, sampleArrival } from './open-inbox.ts'

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

/** An inbox with its own database. */
export type FreshInbox = OpenInbox & { readonly database: TestDatabase }

/** Opens an inbox with its own database. */
export async function openFreshInbox(env: NodeJS.ProcessEnv): Promise<FreshInbox> {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(env))
  const open = resources.use(await openInbox(database))
  const owned = resources.move()
  return { ...open, database, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Stores events that are due at once and that no process holds. */
export async function storePending({ database }: FreshInbox, ids: readonly string[]): Promise<void> {
  await using declining = await openInbox(database, { admits: () => false })
  await Promise.all(ids.map((id) => declining.inbox.record(sampleArrival(id))))
}

/** Stores an event that its process claims on insert. */
export async function storeClaimed(open: OpenInbox, id: string): Promise<Claim> {
  await open.inbox.record(sampleArrival(id))
  const claim = open.claimedOnInsert.at(-1)
  if (claim === undefined) throw new Error('No claim was made on insert')
  return claim
}

/** Changes a record with an update pipeline, so that times can be relative to the database's clock. */
export async function changeRecord(open: OpenInbox, eventId: string, stage: Document): Promise<void> {
  const { matchedCount } = await open.events.updateOne({ eventId }, [stage])
  expect(matchedCount).toBe(1)
}

/** The time of the database, moved by some milliseconds, for an update pipeline. */
export function fromNow(ms: number): Document {
  return { $add: ['$$NOW', ms] }
}

/** The time of the clock of the database, in milliseconds. */
export async function serverNow(open: OpenInbox): Promise<number> {
  return (await open.db.command({ hello: 1 })).localTime.getTime()
}

/** Ends all claims, as if their processes had died. */
export async function endClaims(open: OpenInbox, filter: Document = {}): Promise<void> {
  const ended = await open.events.updateMany({ state: 'processing', ...filter }, [{ $set: { dueAt: fromNow(-1) } }])
  expect(ended.matchedCount).toBeGreaterThan(0)
}

/** Claims the one event that is due. */
export async function claimOne(claims: Claims): Promise<Claim> {
  const [claim] = await claims.claimDue(1)
  if (claim === undefined) throw new Error('Nothing was due')
  return claim
}

/** Takes over one record whose claim is made to end. */
export async function takeOverOne(open: OpenInbox, claims: Claims, eventId: string): Promise<Claim> {
  await endClaims(open, { eventId })
  const found = await claims.claimSuspects(null, 100)
  const claim = found.claims.find(({ event }) => event.id === eventId)
  if (claim === undefined) throw new Error('Nothing was taken over')
  return claim
}

/** The ids of the events of some claims, in their order. */
export function idsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ event }) => event.id)
}
