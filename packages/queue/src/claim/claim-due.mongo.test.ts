import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { describe, expect, it } from 'vitest'
import type { TaskDocument } from '../task.ts'
import { EVENTS } from '../task.ts'
import {
  again,
  applied,
  changeRecord,
  claimOne,
  done,
  endClaims,
  failed,
  fromNow,
  idsOf,
  type OpenQueue,
  openFreshQueue,
  serverNow,
  storePending,
} from '../testing/open-queue.ts'
import { HANDLER, sampleTask } from '../testing/sample-task.ts'
import type { Claim } from './claim.ts'

const HOUR_MS = 3_600_000
const LASTS_MS = 30_000

describe('claimDue', () => {
  it('takes new records and retries in one order, the longest due first, and nothing that is due later', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a', 'new', 'c', 'd', 'later'])
    await changeRecord(open, 'a', { $set: { dueAt: fromNow(-10_000) } })
    await changeRecord(open, 'c', { $set: { dueAt: fromNow(-20_000) } })
    await changeRecord(open, 'd', { $set: { dueAt: fromNow(-30_000) } })
    await changeRecord(open, 'later', { $set: { dueAt: fromNow(60_000) } })
    const claims = open.claims()
    expect(idsOf(await claims.claimDue(3))).toEqual(['d', 'c', 'a'])
    expect(idsOf(await claims.claimDue(3))).toEqual(['new'])
    expect(await claims.claimDue(3)).toEqual([])
    expect(await open.record('later')).toMatchObject({ state: 'pending', starts: 0 })
  })

  it('gives the record a name and an end by the clock of the database, and counts the start', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const before = await serverNow(open)
    const claim = await claimOne(open.claims({ lastsMs: 30_000 }))
    const after = await serverNow(open)
    const record = await open.record('a')
    expect(claim).toEqual({
      ...{ _id: record._id, provider: 'acme', eventId: 'a', handler: HANDLER, line: undefined },
      ...{ claim: record.claim, endsAt: record.dueAt?.getTime(), starts: 1, lost: 0, failures: 0, waited: 0 },
      ...{ waitedFor: null, record: expect.objectContaining({ eventId: 'a', state: 'processing' }) },
    })
    expect(record).toMatchObject({
      state: 'processing',
      claim: expect.stringMatching(/^[0-9a-f-]{36}$/),
      starts: 1,
      lost: 0,
    })
    expect(claim.endsAt).toBeGreaterThanOrEqual(before + 30_000)
    expect(claim.endsAt).toBeLessThanOrEqual(after + 30_000)
  })

  it('takes a deferred record when its time has come', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ lastsMs: LASTS_MS })
    const claim = await claimOne(claims)
    await claims.settle([{ claim, settlement: again(150), attempt: failed }])
    await expect.poll(async () => idsOf(await claims.claimDue(1)), { interval: 20 }).toEqual(['a'])
    const { dueAt, attempts } = await open.record('a')
    expect(dueAt?.getTime()).toBeGreaterThanOrEqual((attempts[0]?.at.getTime() ?? 0) + 150 + LASTS_MS)
  })

  it('gives each record to one of many that claim at the same time', async () => {
    await using open = await openFreshQueue(process.env)
    const ids = Array.from({ length: 200 }, (_, index) => `e${index}`)
    await storePending(open, ids)
    const takeAll = async (): Promise<Claim[]> => {
      const claims = open.claims()
      const mine: Claim[] = []
      for (let idle = 0; idle < 3; ) {
        const taken = await claims.claimDue(7)
        mine.push(...taken)
        idle = taken.length === 0 ? idle + 1 : 0
      }
      return mine
    }
    const taken = (await Promise.all(Array.from({ length: 4 }, takeAll))).flat()
    expect(idsOf(taken).sort()).toEqual([...ids].sort())
    const named = new Map((await open.events.find().toArray()).map(({ eventId, claim }) => [eventId, claim]))
    for (const { claim, eventId } of taken) expect(named.get(eventId)).toBe(claim)
    expect(await open.events.countDocuments({ starts: { $ne: 1 } })).toBe(0)
  })

  describe('while another process claims the first of the records that it finds', () => {
    /** Claims up to `limit` records. Before its update is written, another process claims `e0`, and then `meanwhile` runs. */
    async function claimDueAndLoseOne(
      open: OpenQueue,
      limit: number,
      meanwhile: () => Promise<unknown> = async () => {},
    ): Promise<string[]> {
      await using session = open.database.client.startSession()
      session.startTransaction()
      const events = open.database.client.db(open.database.name).collection(EVENTS)
      await events.updateOne(
        { eventId: 'e0' },
        { $set: { state: 'processing', claim: 'of another process' } },
        { session },
      )
      open.commands.length = 0
      const claimed = open.claims().claimDue(limit)
      await expect.poll(() => open.commands.filter(({ commandName }) => commandName === 'update')).toHaveLength(1)
      await meanwhile()
      await session.commitTransaction()
      return idsOf(await claimed)
    }

    it('keeps what it has claimed if the second search fails', async () => {
      await using open = await openFreshQueue(process.env)
      await storePending(open, ['e0', 'e1', 'e2', 'e3', 'e4'])
      await using armed = new AsyncDisposableStack()
      // The first one reads what was claimed.
      const spec = { commands: ['find'], appName: open.appName, how: { errorCode: 50 }, after: 1 }
      const failing = async () => armed.use(await armFailPoint(open.database.uri, spec))
      expect(await claimDueAndLoseOne(open, 4, failing)).toHaveLength(3)
    })
  })
})

it('holds what it has claimed without knowing it only until the claim ends', async () => {
  await using open = await openFreshQueue(process.env)
  await storePending(open, ['a'])
  const claims = open.claims()
  {
    // After the search.
    const spec = { commands: ['find'], appName: open.appName, how: { errorCode: 50 }, after: 1 }
    await using _ = await armFailPoint(open.database.uri, spec)
    await expect(claims.claimDue(1)).rejects.toMatchObject({ code: 50 })
  }
  expect(await claims.claimDue(1)).toEqual([])
  await endClaims(open)
  expect(idsOf((await claims.claimSuspects(null, 10)).claims)).toEqual(['a'])
})

describe('with a long list', () => {
  /** The keys and documents that the server examined for each command of the claims, by its own profiler. */
  async function examined(open: OpenQueue, act: () => Promise<unknown>) {
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

  async function storeMany(open: OpenQueue, count: number, members: Partial<TaskDocument>): Promise<void> {
    await open.events.insertMany(Array.from({ length: count }, () => sampleTask(members)))
  }

  it('examines none of two thousand records that are due later', async () => {
    await using open = await openFreshQueue(process.env)
    await storeMany(open, 2_000, { state: 'pending', dueAt: new Date(Date.now() + HOUR_MS) })
    const claims = open.claims({ maxDelayMs: HOUR_MS })
    const byDueTime = 'IXSCAN { state: 1, handler: 1, dueAt: 1, _id: 1 }'
    expect(await examined(open, () => claims.claimDue(500))).toEqual([
      { op: 'query', planSummary: `${byDueTime}, ${byDueTime}, ${byDueTime}`, docsExamined: 0, keysExamined: 0 },
    ])
  })

  it('examines only as many of two thousand due records as it takes', async () => {
    await using open = await openFreshQueue(process.env)
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
})
