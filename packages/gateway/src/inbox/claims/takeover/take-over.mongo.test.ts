import { describe, expect, it } from 'vitest'
import {
  applied,
  changeRecord,
  claimOne,
  done,
  endLeases,
  type FreshInbox,
  failed,
  fromNow,
  idsOf,
  openFreshInbox,
  steadyClaims,
  storeClaimed,
  takeOverOne,
} from '../../../testing/open-fresh-inbox.ts'
import { sampleArrival } from '../../../testing/open-inbox.ts'
import type { Claims } from '../claims.ts'

const HOUR_MS = 3_600_000

/** Claims of an inbox whose one event was being tried when its process died. */
async function claimsAfterTry(open: FreshInbox, how: 'alone' | 'together'): Promise<Claims> {
  await open.inbox.record(sampleArrival('a'))
  const claims = open.claims({ maxCrashes: 3 })
  await claims.begin([await takeOverOne(open, claims, 'a')], how)
  return claims
}

describe('takeOver', () => {
  it('takes at most the requested number', async () => {
    await using open = await openFreshInbox(process.env)
    const ids = ['a', 'b', 'c']
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    const other = open.claims({ owner: 'other' })
    expect((await other.takeOver(2)).taken).toHaveLength(2)
    expect((await other.takeOver(2)).taken).toHaveLength(1)
    expect((await other.takeOver(2)).taken).toHaveLength(0)
  })

  it('marks a record as dead whose holders died repeatedly without a result', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    const claims = await steadyClaims(open, { maxCrashes: 3 })
    for (const lost of [1, 2]) {
      const claim = await takeOverOne(open, claims, 'a')
      expect(claim.lost).toBe(lost)
      await claims.begin([claim], 'alone')
    }
    await changeRecord(open, 'a', { $set: { leaseOwner: 'a dead process' } })
    expect(await claims.takeOver(10)).toMatchObject({ taken: [], poisoned: 1 })
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'dead', reason: 'worker_died', starts: 3, lost: 2 })
    expect(record.lastError).toMatchObject({ code: 'worker_died', at: expect.any(Date) })
    expect(record.settledAt).toBeInstanceOf(Date)
    for (const member of ['leaseOwner', 'claimedAt', 'begun', 'losses', 'expireAt'])
      expect(record).not.toHaveProperty(member)
    expect(await claims.takeOver(10)).toMatchObject({ taken: [], poisoned: 0 })
  })

  it('marks nothing as dead that only waited in the memory of processes that died, however many', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims({ maxCrashes: 3 })
    for (let deaths = 0; deaths < 10; deaths += 1) expect((await takeOverOne(open, claims, 'a')).lost).toBe(1)
    expect(await open.record('a')).toMatchObject({ state: 'processing', starts: 11, lost: 1 })
  })

  it('counts a death for an event that was being tried, but not for its next holder, which never tried it', async () => {
    await using open = await openFreshInbox(process.env)
    const claims = await claimsAfterTry(open, 'alone')
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(2)
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(2)
  })

  it('counts no death for one that was tried together with others: it makes each of them a suspect', async () => {
    await using open = await openFreshInbox(process.env)
    const claims = await claimsAfterTry(open, 'together')
    const suspect = await takeOverOne(open, claims, 'a')
    expect(suspect.lost).toBe(2)
    await claims.begin([suspect], 'together')
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(3)
  })

  it('marks nothing as dead that had a result in between', async () => {
    await using open = await openFreshInbox(process.env)
    const claims = await claimsAfterTry(open, 'alone')
    const claim = await takeOverOne(open, claims, 'a')
    await claims.begin([claim], 'alone')
    await claims.settle([{ claim, settlement: { state: 'pending', delayMs: 0 }, attempt: failed }])
    expect((await claimOne(claims)).lost).toBe(0)
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(1)
  })
})

describe('a lease that runs out without a death', () => {
  it('is no loss, and costs no record, if its holder beats again before another process looks', async () => {
    await using open = await openFreshInbox(process.env)
    const claim = await storeClaimed(open, 'a')
    const claims = open.claims()
    await claims.beat()
    await endLeases(open)
    await claims.beat()
    expect((await open.claims({ owner: 'other' }).takeOver(10)).taken).toEqual([])
    expect(await open.record('a')).toMatchObject({ fence: 1, lost: 0 })
    expect(await claims.settle([{ claim, settlement: done, attempt: applied }])).toEqual([])
  })

  it('leaves its holder what nobody has taken, even before that beats again', async () => {
    await using open = await openFreshInbox(process.env)
    const claim = await storeClaimed(open, 'a')
    const claims = open.claims()
    await claims.beat()
    await endLeases(open)
    expect(await claims.settle([{ claim, settlement: done, attempt: applied }])).toEqual([])
    expect(await open.record('a')).toMatchObject({ state: 'done', fence: 1 })
  })

  it('is not decided by a process whose own beat was late: all get a third of a lease to beat again', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    await open.claims().beat()
    let now = 0
    const other = open.claims({ owner: 'other', monotonicMs: () => now })
    await other.beat()
    now += 30_001
    await other.beat()
    await endLeases(open)
    now += 9_999
    expect((await other.takeOver(10)).taken).toEqual([])
    now += 1
    expect((await other.takeOver(10)).taken).toMatchObject([{ lost: 1 }])
  })

  it('uses up no budget, however many outages let it run out while it is tried', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    const one = await steadyClaims(open, { owner: 'one', maxCrashes: 3 })
    const two = await steadyClaims(open, { owner: 'two', maxCrashes: 3 })
    for (const taker of [one, two, one, two, one, two, one, two]) {
      // An hour has passed. Both processes beat after the last outage, and not since this one began.
      await open.db
        .collection('owners')
        .updateMany({}, [{ $set: { aliveAt: fromNow(-20_000), aliveUntil: fromNow(-1) } }])
      const before = { $map: { input: '$losses', in: { owner: '$$this.owner', at: fromNow(-HOUR_MS) } } }
      await changeRecord(open, 'a', { $set: { losses: { $ifNull: [before, '$losses'] } } })
      const { taken, poisoned } = await taker.takeOver(10)
      expect(poisoned).toBe(0)
      expect(taken).toHaveLength(1)
      await taker.begin(taken, 'alone')
    }
    expect(await open.record('a')).toMatchObject({ state: 'processing' })
  })

  it('is not decided by a process that has only just reached the database', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    await changeRecord(open, 'a', { $set: { lost: 2, begun: true, leaseOwner: 'silent' } })
    const fresh = open.claims({ owner: 'fresh', maxCrashes: 3 })
    await fresh.beat()
    expect(await fresh.takeOver(10)).toMatchObject({ taken: [], poisoned: 0 })
    const steady = await steadyClaims(open, { owner: 'steady', maxCrashes: 3 })
    expect(await steady.takeOver(10)).toMatchObject({ taken: [], poisoned: 1 })
  })
})

describe('a lease of another length, as in a rolling restart with another LEASE_MS', () => {
  it('holds for everything that its process holds', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    await open.claims({ leaseMs: 120_000 }).beat()
    const short = open.claims({ owner: 'short', leaseMs: 30_000 })
    expect((await short.takeOver(10)).taken).toEqual([])
    await open.db.collection('owners').updateOne({}, [{ $set: { aliveUntil: fromNow(300_000) } }])
    expect(idsOf((await short.takeOver(10)).taken), 'a lease that the process never has').toEqual(['a'])
  })
})
