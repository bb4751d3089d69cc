import { describe, expect, it } from 'vitest'
import { type FreshInbox, fromNow, idsOf, openFreshInbox } from '../../../testing/open-fresh-inbox.ts'
import { sampleArrival } from '../../../testing/open-inbox.ts'
import { EVENTS, FULFILMENT } from '../../event-document.ts'

const HOUR_MS = 3_600_000
const LEASE_MS = 30_000
const IN_FLIGHT = 5_000
const OF_THE_DEAD = 50

interface Look {
  readonly ns: string
  readonly planSummary?: string
  readonly docsExamined?: number
  readonly keysExamined?: number
}

/** What the server did for each command on events and owners, by its own profiler, except for the look at lines, once a minute. */
async function profiled(open: FreshInbox, act: () => Promise<unknown>): Promise<Look[]> {
  const { db } = open.database
  await db.command({ profile: 2 })
  await act()
  await db.command({ profile: 0 })
  const ns = { $in: [`${db.databaseName}.events`, `${db.databaseName}.owners`] }
  const fields = { _id: 0, ns: 1, planSummary: 1, docsExamined: 1, keysExamined: 1 } as const
  const looks = { ns, 'command.filter.dueAt': { $exists: false } }
  return db.collection('system.profile').find<Look>(looks).project<Look>(fields).sort({ ts: 1 }).toArray()
}

/** Stores records in process, without most of their fields, as if some owners had claimed them in turns. */
async function storeInFlight(open: FreshInbox, count: number, owners: readonly string[]): Promise<void> {
  const events = open.database.db.collection(EVENTS)
  const from = await events.countDocuments()
  const records = Array.from({ length: count }, (_, nth) => ({
    ...{ provider: 'acme', eventId: `in flight ${from + nth}`, state: 'processing', fence: 1 },
    handler: FULFILMENT,
    leaseOwner: owners[nth % owners.length],
  }))
  await events.insertMany(records, { ordered: false })
}

describe('a takeover', () => {
  it('examines no record of the living, however many are in process', async () => {
    await using open = await openFreshInbox(process.env)
    const living = ['one', 'two', 'three']
    for (const owner of living) await open.claims({ owner, leaseMs: HOUR_MS }).beat()
    await storeInFlight(open, IN_FLIGHT, living)
    const looks = await profiled(open, async () => {
      expect(await open.claims().takeOver(500)).toMatchObject({ taken: [], poisoned: 0 })
    })
    expect(looks).toHaveLength(2)
    expect(looks[0]).toMatchObject({ planSummary: expect.stringMatching(/^DISTINCT_SCAN/), docsExamined: 0 })
    expect(looks[0]?.keysExamined).toBeLessThanOrEqual(2 * living.length)
    expect(looks[1]).toMatchObject({ ns: expect.stringMatching(/owners$/), docsExamined: living.length })
  })

  it('of a few records examines only these, however many the living hold', async () => {
    await using open = await openFreshInbox(process.env)
    await open.claims({ owner: 'living', leaseMs: HOUR_MS }).beat()
    await open.claims({ owner: 'dead' }).leave()
    await storeInFlight(open, IN_FLIGHT, ['living'])
    await storeInFlight(open, OF_THE_DEAD, ['dead'])
    const looks = await profiled(open, async () => {
      expect((await open.claims().takeOver(500)).taken).toHaveLength(OF_THE_DEAD)
    })
    const examined = looks.filter(({ ns }) => ns.endsWith('.events')).map(({ docsExamined = 0 }) => docsExamined)
    expect(Math.max(...examined)).toBe(OF_THE_DEAD)
    expect(examined.length).toBeLessThan(8)
  })

  it('examines few records of the dead, however many there are, and takes the oldest first', async () => {
    await using open = await openFreshInbox(process.env)
    await open.claims({ owner: 'living', leaseMs: HOUR_MS }).beat()
    for (const owner of ['dead', 'also dead']) await open.claims({ owner }).leave()
    await storeInFlight(open, 5_000, ['living', 'dead', 'also dead'])
    const taken: string[] = []
    const looks = await profiled(open, async () => {
      taken.push(...idsOf((await open.claims().takeOver(10)).taken))
    })
    const oldest = Array.from({ length: 15 }, (_, nth) => nth).filter((nth) => nth % 3 > 0)
    expect(taken).toEqual(oldest.map((nth) => `in flight ${nth}`))
    expect(looks.length).toBeGreaterThan(2)
    // At least 100 are searched for those that may have killed their holders.
    expect(looks.filter(({ docsExamined = 0 }) => docsExamined > 110)).toEqual([])
  })

  it.each([
    ['when the first lease of a living holder ends', ['one', 'two'], LEASE_MS],
    ['never while there is no other holder', [], Number.POSITIVE_INFINITY],
  ])('is to be repeated %s', async (_, holders, latestMs) => {
    await using open = await openFreshInbox(process.env)
    await open.claims({ owner: 'one', leaseMs: LEASE_MS }).beat()
    await open.claims({ owner: 'two', leaseMs: HOUR_MS }).beat()
    if (holders.length > 0) await storeInFlight(open, 10, holders)
    const { taken, againInMs } = await open.claims({ owner: 'looking' }).takeOver(500)
    expect(taken).toEqual([])
    expect(againInMs).toBeLessThanOrEqual(latestMs)
    expect(againInMs).toBeGreaterThanOrEqual(latestMs === LEASE_MS ? LEASE_MS / 2 : latestMs)
  })

  it('costs one look into the index while nothing is in process', async () => {
    await using open = await openFreshInbox(process.env)
    await open.claims({ owner: 'idle' }).beat()
    const looks = await profiled(open, () => open.claims().takeOver(500))
    expect(looks).toMatchObject([{ docsExamined: 0 }])
    expect(looks[0]?.keysExamined).toBeLessThanOrEqual(1)
  })

  it('costs one look while only this process holds records', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    expect(await profiled(open, () => open.claims().takeOver(500))).toHaveLength(1)
  })
})

describe('the lease of a process', () => {
  it.each([
    ['has ended', -1],
    ['ends later than it ever does, as after a clock that was ahead', 2 * LEASE_MS + 60_000],
  ])('frees everything that it holds if it %s', async (_, ms) => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    await open.claims().beat()
    const other = open.claims({ owner: 'other' })
    expect((await other.takeOver(10)).taken).toEqual([])
    await open.db.collection('owners').updateOne({}, [{ $set: { aliveUntil: fromNow(ms) } }])
    expect((await other.takeOver(10)).taken).toMatchObject([{ fence: 2, lost: 1, event: { id: 'a' } }])
  })

  it('still holds after the clock of the database was set back by less than a lease', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    await open.claims().beat()
    await open.db.collection('owners').updateOne({}, [{ $set: { aliveUntil: fromNow(2 * LEASE_MS - 5_000) } }])
    expect((await open.claims({ owner: 'other' }).takeOver(10)).taken).toEqual([])
  })

  it('ends when the process leaves: what it could not release is taken over at once', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims()
    await claims.beat()
    await claims.leave()
    const other = open.claims({ owner: 'other' })
    await expect.poll(async () => idsOf((await other.takeOver(10)).taken)).toEqual(['a'])
  })

  it('lets one of two that look at the same time take each record', async () => {
    await using open = await openFreshInbox(process.env)
    const ids = Array.from({ length: 50 }, (_, index) => `e${index}`)
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    await open.claims().beat()
    await open.db.collection('owners').updateOne({}, [{ $set: { aliveUntil: fromNow(-1) } }])
    const others = ['one', 'two'].map((owner) => open.claims({ owner }))
    for (const other of others) await other.beat()
    const taken = await Promise.all(others.map((other) => other.takeOver(50)))
    expect(idsOf(taken.flatMap((one) => one.taken)).sort()).toEqual([...ids].sort())
    expect(await open.events.countDocuments({ fence: 2, starts: 2 })).toBe(50)
  })
})
