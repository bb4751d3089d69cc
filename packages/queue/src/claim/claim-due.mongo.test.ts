import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { startProfile } from '@oncehook/kernel/testing/profile'
import { describe, expect, it } from 'vitest'
import { EVENTS } from '../task.ts'
import {
  again,
  changeRecord,
  claimOne,
  endClaims,
  failed,
  fromNow,
  idsOf,
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

  it('FP-21: takes a deferred record when its time has come', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ lastsMs: LASTS_MS })
    const claim = await claimOne(claims)
    await claims.settle([{ claim, settlement: again(150), attempt: failed }])
    await expect.poll(async () => idsOf(await claims.claimDue(1)), { interval: 20 }).toEqual(['a'])
    const { dueAt, attempts } = await open.record('a')
    expect(dueAt?.getTime()).toBeGreaterThanOrEqual((attempts[0]?.at.getTime() ?? 0) + 150 + LASTS_MS)
  })

  it('FP-12: gives each record to one of many that claim at the same time', async () => {
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

it('examines only what it takes of a long list, and nothing that is due later', async () => {
  await using open = await openFreshQueue(process.env)
  const many = (dueInMs: number) =>
    Array.from({ length: 2_000 }, () => sampleTask({ state: 'pending', dueAt: new Date(Date.now() + dueInMs) }))
  await open.events.insertMany([...many(-HOUR_MS), ...many(HOUR_MS)])
  await using profile = await startProfile(open.database.db)
  expect(await open.claims({ maxDelayMs: HOUR_MS }).claimDue(50)).toHaveLength(50)
  const looks = await profile.examined(EVENTS)
  expect(looks.length).toBeGreaterThanOrEqual(3)
  for (const { plan, keys, documents } of looks) {
    expect(plan).toMatch(/IXSCAN/)
    expect(Math.max(keys, documents), plan).toBeLessThanOrEqual(101)
  }
})
