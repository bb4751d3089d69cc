import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { describe, expect, it } from 'vitest'
import {
  applied,
  changeRecord,
  claimOne,
  done,
  type FreshInbox,
  failed,
  fromNow,
  idsOf,
  openFreshInbox,
  serverNow,
  storePending,
  takeOverOne,
} from '../../testing/open-fresh-inbox.ts'
import { type OpenInbox, sampleArrival } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { EVENTS, type EventDocument } from '../event-document.ts'
import type { Claim } from './claim.ts'

const HOUR_MS = 3_600_000

describe('claimDue', () => {
  it('takes new records and retries in one order, the longest due first, and nothing that is due later', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a', 'new', 'c', 'd', 'later'])
    await changeRecord(open, 'a', { $set: { dueAt: fromNow(-10_000) } })
    await changeRecord(open, 'c', { $set: { dueAt: fromNow(-20_000) } })
    await changeRecord(open, 'd', { $set: { dueAt: fromNow(-30_000) } })
    await changeRecord(open, 'later', { $set: { dueAt: fromNow(60_000) } })
    const claims = open.claims()
    expect(idsOf(await claims.claimDue(3))).toEqual(['d', 'c', 'a'])
    expect(idsOf(await claims.claimDue(3))).toEqual(['new'])
    expect(await claims.claimDue(3)).toEqual([])
    expect(await open.record('later')).toMatchObject({ state: 'pending', fence: 0, starts: 0 })
  })

  it('raises the fence, counts the start and sets the lease by the clock of the database', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const before = await serverNow(open)
    const claim = await claimOne(open.claims({ owner: 'me', leaseMs: 30_000 }))
    const after = await serverNow(open)
    const record = await open.record('a')
    expect(claim).toEqual({
      ...{
        _id: record._id,
        provider: 'acme',
        handler: 'fulfilment',
        fence: 1,
        lost: 0,
        failedCalls: 0,
        internalErrors: 0,
        failures: 0,
        requestId: 'request-1',
      },
      ...{ failedForMs: 0, orderUnknownForMs: 0, event: sampleArrival('a').event },
    })
    expect(record).toMatchObject({ state: 'processing', leaseOwner: 'me', fence: 1, starts: 1, lost: 0 })
    expect(record).not.toHaveProperty('dueAt')
    expect(record.claimedAt?.getTime()).toBeGreaterThanOrEqual(before)
    expect(record.claimedAt?.getTime()).toBeLessThanOrEqual(after)
  })

  it('takes a deferred record when its time has come', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims()
    const claim = await claimOne(claims)
    await claims.settle([{ claim, settlement: { state: 'pending', delayMs: 150 }, attempt: failed }])
    await expect.poll(async () => idsOf(await claims.claimDue(1)), { interval: 20 }).toEqual(['a'])
    const { claimedAt, lastError } = await open.record('a')
    expect(claimedAt?.getTime()).toBeGreaterThanOrEqual((lastError?.at.getTime() ?? 0) + 150)
  })

  it('gives each record to one of many that claim at the same time', async () => {
    await using open = await openFreshInbox(process.env)
    const ids = Array.from({ length: 200 }, (_, index) => `e${index}`)
    await storePending(open, ids)
    const takeAll = async (owner: string): Promise<string[]> => {
      const claims = open.claims({ owner })
      const mine: string[] = []
      for (let idle = 0; idle < 3; ) {
        const taken = idsOf(await claims.claimDue(7))
        mine.push(...taken)
        idle = taken.length === 0 ? idle + 1 : 0
      }
      return mine
    }
    const taken = await Promise.all(['one', 'two', 'three', 'four'].map(takeAll))
    expect(taken.flat().sort()).toEqual([...ids].sort())
    for (const [index, owner] of ['one', 'two', 'three', 'four'].entries()) {
      expect(await open.events.countDocuments({ leaseOwner: owner })).toBe(taken[index]?.length)
    }
    expect(await open.events.countDocuments({ fence: { $ne: 1 } })).toBe(0)
  })

  describe('while another process claims the first of the records that it finds', () => {
    /** Claims up to `limit` records. Before its update is written, another process claims `e0`, and then `meanwhile` runs. */
    async function claimDueAndLoseOne(
      open: FreshInbox,
      limit: number,
      meanwhile: () => Promise<unknown> = async () => {},
    ): Promise<string[]> {
      await using session = open.database.client.startSession()
      session.startTransaction()
      const events = open.database.client.db(open.database.name).collection(EVENTS)
      await events.updateOne({ eventId: 'e0' }, { $set: { state: 'processing', leaseOwner: 'other' } }, { session })
      open.commands.length = 0
      const claimed = open.claims().claimDue(limit)
      await expect.poll(() => open.commands.filter(({ commandName }) => commandName === 'update')).toHaveLength(1)
      await meanwhile()
      await session.commitTransaction()
      return idsOf(await claimed)
    }

    it('searches again, so that it gets as many as it wants', async () => {
      await using open = await openFreshInbox(process.env)
      await storePending(open, ['e0', 'e1', 'e2', 'e3', 'e4'])
      expect((await claimDueAndLoseOne(open, 4)).toSorted()).toEqual(['e1', 'e2', 'e3', 'e4'])
    })

    it('keeps what it has claimed if the second search fails', async () => {
      await using open = await openFreshInbox(process.env)
      await storePending(open, ['e0', 'e1', 'e2', 'e3', 'e4'])
      await using armed = new AsyncDisposableStack()
      const spec = { commands: ['find'], appName: open.appName, how: { errorCode: 50 } }
      const failing = async () => armed.use(await armFailPoint(open.database.uri, spec))
      expect(await claimDueAndLoseOne(open, 4, failing)).toHaveLength(3)
    })
  })

  it('reports for how long an event has been failing', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    await changeRecord(open, 'a', { $set: { failures: 3, firstFailedAt: fromNow(-60_000) } })
    const claim = await claimOne(open.claims())
    expect(claim.failures).toBe(3)
    expect(claim.failedForMs).toBeGreaterThanOrEqual(60_000)
    expect(claim.failedForMs).toBeLessThan(70_000)
  })
})

describe('a record that something else wrote', () => {
  it.each([
    ['no counters', { $unset: { lost: '', starts: '', fence: '', failures: '', attempts: '' } }],
    ['no numbers in them', { $set: { lost: 'x', starts: null, fence: {}, failures: '7', attempts: 'none' } }],
  ])('is claimed, fenced, counted and settled as if new, with %s', async (_, damage) => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    await open.events.updateOne({ eventId: 'a' }, damage as never)
    const claims = open.claims()
    const claim = await claimOne(claims)
    expect(claim).toMatchObject({ fence: 1, lost: 0, failures: 0 })
    expect(await takeOverOne(open, open.claims({ owner: 'other' }), 'a')).toMatchObject({ fence: 2, lost: 1 })
    expect(await claims.settle([{ claim, settlement: done, attempt: applied }])).toHaveLength(1)
    const again = await takeOverOne(open, claims, 'a')
    expect(again).toMatchObject({ fence: 3 })
    await claims.settle([{ claim: again, settlement: { state: 'pending', delayMs: 0 }, attempt: failed }])
    expect(await open.record('a')).toMatchObject({ starts: 3, lost: 0, failures: 1, attempts: [failed] })
  })

  it('is claimed, taken over and settled like the others even if its id is text', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a', 'b'])
    const _id = '6741ac0fb7c9a2d1e8f00001' as never
    await open.events.insertOne({ ...(await open.record('a')), _id, eventId: 'imported' })
    const claims = open.claims()
    expect(idsOf(await claims.claimDue(10)).toSorted()).toEqual(['a', 'b', 'imported'])
    await open.events.updateMany({}, [{ $set: { leaseOwner: 'a dead process' } }])
    const { taken } = await claims.takeOver(10)
    expect(idsOf(taken).toSorted()).toEqual(['a', 'b', 'imported'])
    const settled = taken.map((claim) => ({ claim, settlement: done, attempt: applied }))
    expect(await claims.settle(settled)).toEqual([])
    expect(await claims.settle(settled)).toEqual([])
    expect(await open.events.countDocuments({ state: 'done' })).toBe(3)
  })

  it('has texts where the code reads texts', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    await open.events.updateOne({ eventId: 'a' }, {
      $unset: { type: '', objectId: '', orderId: '', requestId: '', facts: '' },
    } as never)
    const event = { id: 'a', type: '', objectId: '', facts: { orderId: '' } }
    expect(await claimOne(open.claims())).toMatchObject({ requestId: '', event })
  })
})

describe('with a long list', () => {
  /** The keys and documents that the server examined for each command of the claims, by its own profiler. */
  async function examined(open: FreshInbox, act: () => Promise<unknown>) {
    const { db } = open.database
    await db.command({ profile: 2 })
    await act()
    await db.command({ profile: 0 })
    const entries = await db
      .collection('system.profile')
      .find({ ns: `${db.databaseName}.events`, 'command.listIndexes': { $exists: false } })
      .sort({ ts: 1 })
      .toArray()
    return entries.map(({ op, planSummary, docsExamined, keysExamined }) => ({
      op,
      planSummary,
      docsExamined,
      keysExamined,
    }))
  }

  async function storeMany(open: OpenInbox, count: number, members: Partial<EventDocument>): Promise<void> {
    await open.events.insertMany(Array.from({ length: count }, () => sampleRecord(members)))
  }

  it('examines none of two thousand records that are due later', async () => {
    await using open = await openFreshInbox(process.env)
    await storeMany(open, 2_000, { state: 'pending', dueAt: new Date(Date.now() + HOUR_MS) })
    const claims = open.claims({ maxDelayMs: HOUR_MS })
    const byDueTime = 'IXSCAN { state: 1, handler: 1, dueAt: 1, _id: 1 }'
    expect(await examined(open, () => claims.claimDue(500))).toEqual([
      { op: 'query', planSummary: `${byDueTime}, ${byDueTime}, ${byDueTime}`, docsExamined: 0, keysExamined: 0 },
    ])
  })

  it('examines only as many of two thousand due records as it takes', async () => {
    await using open = await openFreshInbox(process.env)
    await storeMany(open, 2_000, { state: 'pending', dueAt: new Date(Date.now() - HOUR_MS) })
    const claims = open.claims()
    const taken: Claim[] = []
    const looks = await examined(open, async () => {
      taken.push(...(await claims.claimDue(50)))
      await claims.settle(taken.map((claim) => ({ claim, settlement: done, attempt: applied })))
    })
    expect(taken).toHaveLength(50)
    expect(looks.length).toBeGreaterThanOrEqual(4)
    for (const { planSummary, docsExamined, keysExamined } of looks) {
      expect(planSummary).toMatch(/^IXSCAN/)
      expect(docsExamined).toBeLessThanOrEqual(50)
      expect(keysExamined).toBeLessThanOrEqual(101)
    }
  })

  it('examines none of two thousand settled records in a takeover', async () => {
    await using open = await openFreshInbox(process.env)
    await storeMany(open, 2_000, { state: 'done' })
    await open.inbox.record(sampleArrival('a'))
    const looks = await examined(open, async () => {
      expect((await open.claims({ owner: 'other' }).takeOver(10)).taken).toHaveLength(1)
    })
    for (const { planSummary, docsExamined } of looks) {
      expect(planSummary).toMatch(/^(?:IXSCAN|DISTINCT_SCAN)/)
      expect(docsExamined).toBeLessThanOrEqual(1)
    }
  })

  it('has its claims in memory, no body among them', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claim = await claimOne(open.claims())
    expect(JSON.stringify(claim)).not.toContain('the body of')
  })
})
