import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Claim } from '@oncehook/queue/claim/claim'
import type { Claims } from '@oncehook/queue/claim/claims'
import { Pauses, pausedDueAt } from '@oncehook/queue/pauses'
import { describe, expect, it } from 'vitest'
import { type OpenInbox, openInbox, sampleArrival } from '../testing/open-inbox.ts'
import { sampleRecord } from '../testing/sample-record.ts'
import type { EventDocument } from './event-document.ts'

const HOUR_MS = 3_600_000

interface Paused extends AsyncDisposable {
  readonly database: TestDatabase
  readonly open: OpenInbox
  readonly pauses: Pauses
  readonly claims: Claims
}

/** An inbox that follows the pauses, with its own database. Nothing is claimed on insert. */
async function openPaused(): Promise<Paused> {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(process.env))
  const pauses = new Pauses(database.db, 'provider_pauses')
  const paused = () => pauses.current
  const open = resources.use(await openInbox(database, { admits: () => false, paused }))
  const owned = resources.move()
  const claims = open.claims({ paused, maxDelayMs: HOUR_MS })
  return { database, open, pauses, claims, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

function pause(pauses: Pauses, provider = 'acme'): Promise<boolean> {
  return pauses.pause({ name: provider, by: 'alice', reason: 'a wrong mapping' })
}

/** Stores events one after the other, so that their order is known. */
async function store({ open }: Paused, provider: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) expect(await open.inbox.record(sampleArrival(id, { provider }))).toBe('recorded')
}

function idsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ eventId }) => eventId)
}

describe('a paused provider', () => {
  it('is paused once, with the operator, the time and the reason, and resumed once', async () => {
    await using paused = await openPaused()
    const { pauses, database } = paused
    const other = new Pauses(database.db, 'provider_pauses')
    expect(await pause(pauses)).toBe(true)
    expect(await other.pause({ name: 'acme', by: 'bob', reason: '$reason' })).toBe(false)
    expect(await other.list()).toEqual([
      { name: 'acme', since: expect.any(Date), by: 'alice', reason: 'a wrong mapping' },
    ])
    expect([...other.current.keys()]).toEqual(['acme'])
    expect(await other.resume('acme')).toBe(true)
    expect(await pauses.resume('acme')).toBe(false)
    expect(pauses.current.size).toBe(0)
  })

  it('has its events stored as pending and not claimed, whether they arrived before or after the pause', async () => {
    await using paused = await openPaused()
    const { open, pauses, claims } = paused
    await store(paused, 'acme', ['before'])
    await pause(pauses)
    await store(paused, 'acme', ['after'])
    await store(paused, 'shop', ['other'])
    expect(idsOf(await claims.claimDue(10))).toEqual(['other'])
    expect(await claims.claimDue(10)).toEqual([])
    for (const id of ['before', 'after']) {
      expect(await open.record(id)).toMatchObject({ state: 'pending', starts: 0, attempts: [] })
    }
  })

  it('has its events sent in the order of their age when it is resumed, with nothing written for that', async () => {
    await using paused = await openPaused()
    const { open, pauses, claims } = paused
    await store(paused, 'acme', ['a', 'b'])
    await pause(pauses)
    await claims.claimDue(10)
    await store(paused, 'acme', ['c', 'd'])
    const before = await open.events.find().toArray()
    await pauses.resume('acme')
    expect(await open.events.find().toArray()).toEqual(before)
    expect(idsOf(await claims.claimDue(3))).toEqual(['a', 'b', 'c'])
    expect(idsOf(await claims.claimDue(3))).toEqual(['d'])
  })

  it('of ten thousand waiting events, no search reads one', async () => {
    await using paused = await openPaused()
    const { open, pauses, claims, database } = paused
    for (const provider of ['acme', 'shop']) {
      await pause(pauses, provider)
      const dueAt = pausedDueAt(provider)
      const members: Partial<EventDocument> = { provider, state: 'pending', dueAt }
      await open.events.insertMany(Array.from({ length: 5_000 }, () => sampleRecord(members)))
    }
    const { db } = database
    await db.command({ profile: 2 })
    expect(await claims.claimDue(500)).toEqual([])
    await db.command({ profile: 0 })
    const looks = await db
      .collection('system.profile')
      .find({ ns: `${db.databaseName}.events`, 'command.listIndexes': { $exists: false } })
      .toArray()
    expect(looks).toHaveLength(1)
    // The search may look at the ends of each range.
    expect(looks[0]).toMatchObject({ docsExamined: 0, planSummary: expect.stringMatching(/^IXSCAN/) })
    expect(looks[0]?.keysExamined).toBeLessThanOrEqual(4)
  })

  it('lets a process that has not yet read the pause continue, and does not lose the events that it releases', async () => {
    await using paused = await openPaused()
    const { open, pauses, claims } = paused
    await store(paused, 'acme', ['a'])
    await pause(pauses)
    await claims.claimDue(10)
    const unaware = open.claims()
    const taken = await unaware.claimDue(10)
    expect(idsOf(taken)).toEqual(['a'])
    await unaware.release(taken)
    expect(await claims.claimDue(10)).toEqual([])
    expect(await open.record('a')).toMatchObject({ state: 'pending', dueAt: pausedDueAt('acme') })
    await pauses.resume('acme')
    expect(idsOf(await claims.claimDue(10))).toEqual(['a'])
  })
})
