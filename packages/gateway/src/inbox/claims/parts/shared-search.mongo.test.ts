import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import type { Document } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { NO_PAUSES } from '../../../testing/no-pauses.ts'
import { changeRecord, type FreshInbox, fromNow, idsOf, openFreshInbox } from '../../../testing/open-fresh-inbox.ts'
import { sampleRecord } from '../../../testing/sample-record.ts'
import { EVENTS, type EventDocument } from '../../event-document.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import { createDueIndex } from '../due-index.ts'
import { isDue } from '../find-due.ts'
import { type NamedRecord, takeClaims, withIds } from '../take-claims.ts'
import { createOwners } from '../takeover/owners.ts'
import { inPart, partOf, slotOf } from './part.ts'
import { createSharedSearch, PART_SEARCHES, REST_MS, type SharedSearch } from './shared-search.ts'

const HOUR_MS = 3_600_000

/** One process: what it searches with, and how it claims what it found. */
interface Searcher {
  readonly owner: string
  readonly search: SharedSearch
  /** Claims what is still due. Resolves to the number of records that another process took. */
  take(found: Awaited<ReturnType<SharedSearch['find']>>): Promise<number>
}

/** A process on this database. `living` says which processes it believes to be alive. Default: what `owners` says. */
function searcher(
  { db }: FreshInbox,
  owner: string,
  { living, monotonicMs = () => 0 }: { readonly living?: readonly string[]; readonly monotonicMs?: () => number } = {},
): Searcher {
  const deps: ClaimsDeps = {
    ...{ db, owner, leaseMs: 30_000, maxCrashes: 8, maxDelayMs: 900_000, monotonicMs },
    ...{ retentionMs: HOUR_MS, bodyRetentionMs: HOUR_MS, paused: () => NO_PAUSES.current },
  }
  const owners = createOwners({ db, owner, leaseMs: 30_000, monotonicMs })
  const found = living === undefined ? owners : { findLiving: async () => [...living] }
  const search = createSharedSearch({ ...deps, dueIndex: createDueIndex(deps) }, found)
  return {
    ...{ owner, search },
    take: async (found) => found.length - (await takeClaims(deps, found, { claimable: isDue(deps) })).claims.length,
  }
}

/** Stores a backlog in the order of its ids. */
async function storeBacklog(open: FreshInbox, count: number, members: Partial<EventDocument> = {}): Promise<void> {
  const records = Array.from({ length: count }, (_, index) => {
    const eventId = `e${String(index).padStart(5, '0')}`
    const slot = slotOf({ provider: 'acme', eventId })
    return sampleRecord({ eventId, slot, state: 'pending', fence: 0, type: 'payment.succeeded', ...members })
  })
  await open.events.insertMany(records)
}

async function beatAll(open: FreshInbox, names: readonly string[]): Promise<void> {
  for (const owner of names) await open.claims({ owner }).beat()
}

/** Searches once and loses one of the records, so that the process turns to its part. Leaves the backlog as it is. */
async function contend({ search }: Searcher, limit = 2): Promise<void> {
  expect(await search.find(limit, 0)).toHaveLength(limit)
  search.report(1)
}

/**
 * Lets all processes search at the same moment, and then claim one after the other: as contended as it can be. Repeats
 * this until nothing is due. Resolves to the records that processes found but lost.
 */
async function drainInStep(open: FreshInbox, searchers: readonly Searcher[], limit: number): Promise<number> {
  let lost = 0
  for (;;) {
    const found = await Promise.all(searchers.map(({ search }) => search.find(limit, limit >> 1)))
    for (const [index, { search, take }] of searchers.entries()) {
      const lostNow = await take(found[index] ?? [])
      search.report(lostNow)
      lost += lostNow
    }
    if ((await open.events.countDocuments({ state: 'pending' })) === 0) return lost
  }
}

/** The slots of these records, each modulo the number of parts. */
async function slotsOf({ events }: FreshInbox, found: readonly NamedRecord[], parts: number): Promise<number[]> {
  const records = await events.find(withIds(found)).toArray()
  return records.map(({ slot = -1 }) => slot % parts)
}

const oldestDue = async ({ events }: FreshInbox, limit: number): Promise<string[]> =>
  (await events.find({ state: 'pending' }).sort({ _id: 1 }).limit(limit).toArray()).map(({ _id }) => String(_id))

describe('processes that work on one backlog', () => {
  it.each([
    [2, 0.5],
    [8, 1],
  ])(
    '%i of them find few records that another one takes',
    async (processes, most) => {
      await using open = await openFreshInbox(process.env)
      const names = Array.from({ length: processes }, (_, index) => `process-${index}`)
      const count = processes * 10 * 8
      await storeBacklog(open, count)
      await beatAll(open, names)
      const searchers = names.map((owner) => searcher(open, owner))
      const lost = await drainInStep(open, searchers, 10)
      expect(await open.events.countDocuments({ state: 'processing', fence: 1 })).toBe(count)
      // Without parts, all processes find the same, so all but one lose everything: `processes - 1` for each record.
      expect(lost / count).toBeLessThan(most)
    },
    240_000,
  )

  it('lose nothing and claim nothing twice if they disagree about who is alive', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 120)
    await open.events.updateMany({ eventId: /[05]$/ }, { $unset: { slot: '' } })
    const views: Readonly<Record<string, readonly string[]>> = {
      a: ['a', 'b', 'c'],
      b: ['b', 'z'],
      c: ['a', 'c', 'y', 'z'],
      d: [],
    }
    const searchers = Object.entries(views).map(([owner, living]) => searcher(open, owner, { living }))
    await drainInStep(open, searchers, 10)
    expect(await open.events.countDocuments({ state: 'processing', fence: 1, starts: 2 })).toBe(120)
  })
})

describe('a process that lost records of a full search', () => {
  it('searches its part, among the processes that are alive', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 100)
    await beatAll(open, ['a', 'b', 'c', 'dead'])
    await open.db
      .collection<Document & { _id: string }>('owners')
      .updateOne({ _id: 'dead' }, [{ $set: { aliveUntil: fromNow(-1) } }])
    for (const [remainder, owner] of ['a', 'b', 'c'].entries()) {
      const one = searcher(open, owner)
      await contend(one)
      const found = await one.search.find(10, 5)
      expect(found).toHaveLength(10)
      expect(new Set(await slotsOf(open, found, 3))).toEqual(new Set([remainder]))
      expect(one.search.wasWhole).toBe(false)
    }
  })

  it('finds the longest due of its part first, and shares the places between new ones and retries', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 60)
    await storeBacklog(open, 60, { provider: 'retried', dueAt: new Date(Date.now() - HOUR_MS) })
    const a = searcher(open, 'a', { living: ['a', 'b'] })
    await contend(a)
    const part = partOf('a', ['a', 'b'])
    if (part === null) throw new Error('Two processes have parts')
    const firstOf = async (provider: string, limit: number): Promise<string[]> => {
      const own = open.events
        .find({ ...inPart(part), provider })
        .sort({ _id: 1 })
        .limit(limit)
      return (await own.toArray()).map(({ _id }) => String(_id))
    }
    const found = await a.search.find(10, 4)
    const expected = [...(await firstOf('acme', 6)), ...(await firstOf('retried', 4))]
    expect(found.map(({ _id }) => String(_id))).toEqual(expected)
  })

  it('examines only the records that it finds', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 2_000)
    await storeBacklog(open, 2_000, { provider: 'retried', dueAt: new Date(Date.now() - HOUR_MS) })
    const a = searcher(open, 'a', { living: ['a', 'b', 'c', 'd'] })
    await contend(a)
    const { db } = open.database
    await db.command({ profile: 2 })
    expect(await a.search.find(100, 40)).toHaveLength(100)
    await db.command({ profile: 0 })
    const looks = await db
      .collection('system.profile')
      .find({ ns: `${db.databaseName}.${EVENTS}` })
      .sort({ ts: 1 })
      .toArray()
    expect(looks.map(({ docsExamined, nreturned }) => [docsExamined, nreturned])).toEqual([
      [100, 100],
      [40, 40],
    ])
    for (const { keysExamined, nreturned } of looks) expect(keysExamined).toBeLessThan(6 * nreturned)
  })

  it('searches everything now and then, so that nothing waits for a process that never searches', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 200)
    await beatAll(open, ['busy', 'stuck'])
    const busy = searcher(open, 'busy')
    await contend(busy)
    for (let searches = 0; searches < PART_SEARCHES; searches += 1) {
      const found = await busy.search.find(2, 1)
      expect(found).toHaveLength(2)
      expect(await slotsOf(open, found, 2)).toEqual([0, 0])
      busy.search.report(await busy.take(found))
    }
    const oldest = await oldestDue(open, 2)
    expect((await busy.search.find(2, 0)).map(({ _id }) => String(_id))).toEqual(oldest)
  })

  it('searches everything for a while once its part has fewer than it wants, and if it turns out to be alone', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 20)
    let now = 0
    const a = searcher(open, 'a', { living: ['a', 'b'], monotonicMs: () => now })
    const alone = searcher(open, 'alone', { living: ['alone'], monotonicMs: () => now })
    await contend(a, 20)
    expect((await a.search.find(20, 0)).length).toBeLessThan(20)
    expect(a.search.wasWhole).toBe(false)
    await contend(alone, 20)
    for (const { search } of [a, alone]) {
      for (const at of [0, REST_MS - 1]) {
        now = at
        expect(await search.find(20, 0)).toHaveLength(20)
        expect(search.wasWhole).toBe(true)
        search.report(20)
      }
    }
    now = REST_MS
    await contend(a, 20)
    await a.search.find(20, 0)
    expect(a.search.wasWhole).toBe(false)
  })

  it('searches everything after a search of its part failed, as one that took too long', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 20)
    const a = searcher(open, 'a', { living: ['a', 'b'] })
    await contend(a)
    {
      const spec = { commands: ['find'], appName: open.appName, how: { errorCode: 50 } }
      await using _failing = await armFailPoint(open.database.uri, spec)
      await expect(a.search.find(2, 0)).rejects.toMatchObject({ code: 50 })
    }
    expect(await a.search.find(20, 0)).toHaveLength(20)
    expect(a.search.wasWhole).toBe(true)
  })
})

describe('claimDue with a part', () => {
  /** Claims up to `limit` records while another process claims the first one of them. */
  async function claimDueAndLoseOne(open: FreshInbox, owner: string, limit: number): Promise<string[]> {
    const [first] = await oldestDue(open, 1)
    await using session = open.database.client.startSession()
    session.startTransaction()
    const events = open.database.client.db(open.database.name).collection<EventDocument>(EVENTS)
    const record = await events.findOne({ eventId: 'e00000' }, { session })
    expect(String(record?._id)).toBe(first)
    await events.updateOne({ eventId: 'e00000' }, { $set: { state: 'processing', leaseOwner: 'other' } }, { session })
    open.commands.length = 0
    const claimed = open.claims({ owner }).claimDue(limit)
    await expect.poll(() => open.commands.filter(({ commandName }) => commandName === 'update')).toHaveLength(1)
    await session.commitTransaction()
    return idsOf(await claimed)
  }

  it('claims as many as without one: also those of the parts of others, and those without a slot', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 20)
    await open.events.updateMany({ eventId: /[05]$/ }, { $unset: { slot: '' } })
    await beatAll(open, ['a', 'stuck', 'other'])
    const claimed = await claimDueAndLoseOne(open, 'a', 19)
    expect(claimed.toSorted()).toEqual(Array.from({ length: 19 }, (_, i) => `e${String(i + 1).padStart(5, '0')}`))
    const finds = open.commands.filter(({ commandName }) => commandName === 'find').map(({ command }) => command)
    expect(finds.filter(({ find }) => find === 'owners')).toHaveLength(1)
    expect(finds.filter(({ filter }) => filter.slot?.$mod?.[0] === 3).length).toBeGreaterThan(0)
  })

  it('keeps what it has claimed if a later search of the same call fails', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 20)
    await beatAll(open, ['a', 'other'])
    await using _ = await armFailPoint(open.database.uri, {
      ...{ commands: ['find'], appName: open.appName },
      how: { errorCode: 50, namespace: `${open.database.name}.owners` },
    })
    expect(await claimDueAndLoseOne(open, 'a', 19)).toHaveLength(18)
  })

  it('does not ask who is alive while nobody takes what it finds, or if it finds less than it wants', async () => {
    await using open = await openFreshInbox(process.env)
    await storeBacklog(open, 20)
    await beatAll(open, ['a', 'other'])
    const askedOwners = () => open.commands.filter(({ command }) => command.find === 'owners')
    const claims = open.claims({ owner: 'a' })
    open.commands.length = 0
    for (const expected of [8, 8, 4, 0]) expect(await claims.claimDue(8)).toHaveLength(expected)
    await open.events.updateMany({}, { $set: { state: 'pending' } })
    await changeRecord(open, 'e00000', { $set: { state: 'pending' } })
    expect(askedOwners()).toEqual([])
    expect(await claimDueAndLoseOne(open, 'a', 30)).toHaveLength(19)
    expect(askedOwners()).toEqual([])
  })
})
