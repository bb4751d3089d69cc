import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { type Document, Timestamp } from 'mongodb'
import { describe, expect, it, vi } from 'vitest'
import { type OpenInbox, openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import type { EventDocument } from '../event-document.ts'
import type { AttemptResult, Claim, Settlement } from './claim.ts'
import type { Claims } from './claims.ts'
import type { ClaimsDeps } from './claims-deps.ts'

// Other tests may keep the machine busy.
vi.setConfig({ testTimeout: 30_000 })

const HOUR_MS = 3_600_000
const applied: AttemptResult = { ms: 5, outcome: 'applied', code: null, message: null }
const failed: AttemptResult = { ms: 5, outcome: 'deferred', code: 'unavailable', message: 'Not now' }
const done: Settlement = { state: 'done', outcome: { kind: 'applied', version: 2 } }

type FreshInbox = OpenInbox & { readonly database: TestDatabase }

/** An inbox with its own database. */
async function openFresh(): Promise<FreshInbox> {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await testDatabase(process.env))
  const open = resources.use(await openInbox(database))
  const owned = resources.move()
  return { ...open, database, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Stores events that are due at once and that no process holds. */
async function storePending({ database }: FreshInbox, ids: readonly string[]): Promise<void> {
  await using declining = await openInbox(database, { admits: () => false })
  await Promise.all(ids.map((id) => declining.inbox.record(sampleArrival(id))))
}

/** Changes a record with an update pipeline, so that times can be relative to the database's clock. */
async function change(open: OpenInbox, eventId: string, stage: Document): Promise<void> {
  const { matchedCount } = await open.events.updateOne({ eventId }, [stage])
  expect(matchedCount).toBe(1)
}

function fromNow(ms: number): Document {
  return { $add: ['$$NOW', ms] }
}

async function serverNow(open: OpenInbox): Promise<number> {
  return (await open.db.command({ hello: 1 })).localTime.getTime()
}

async function serverSecond(open: OpenInbox): Promise<number> {
  return Math.floor((await serverNow(open)) / 1_000)
}

async function setClaimedAt(open: OpenInbox, eventId: string, second: number): Promise<void> {
  await open.events.updateOne({ eventId }, { $set: { claimedAt: new Timestamp({ t: second, i: 1 }) } })
}

/**
 * Lets another process, whose lease is 30 s, look at a record claimed on insert in the second in which its lease ends.
 * If that second ends too soon, repeats this with a new record.
 */
async function lookInLastSecond(
  open: OpenInbox,
  other: Claims,
  eventId = 'a',
): Promise<{ readonly eventId: string; readonly taken: readonly Claim[] }> {
  await open.events.deleteMany()
  await open.inbox.record(sampleArrival(eventId))
  expect((await other.reclaimExpired(10)).taken).toEqual([])
  const second = await serverSecond(open)
  // The server writes whole seconds: this record may be up to one second younger than its timestamp says.
  await setClaimedAt(open, eventId, second - 30)
  const { taken } = await other.reclaimExpired(10)
  return (await serverSecond(open)) === second ? { eventId, taken } : lookInLastSecond(open, other, `${eventId}a`)
}

/** Claims of a process that has reached the database for a whole lease. */
async function steadyClaims(open: OpenInbox, deps: Partial<ClaimsDeps>): Promise<Claims> {
  let now = 0
  const claims = open.claims({ ...deps, monotonicMs: () => now })
  await claims.beat()
  now += 30_000
  await claims.beat()
  return claims
}

async function claimOne(claims: Claims): Promise<Claim> {
  const [claim] = await claims.claimDue(1)
  if (claim === undefined) throw new Error('Nothing was due')
  return claim
}

/** Takes over one record after its lease is made to end. */
async function takeOverOne(open: OpenInbox, claims: Claims, eventId: string): Promise<Claim> {
  await change(open, eventId, { $set: { leaseUntil: fromNow(-1), leaseOwner: 'a dead process' } })
  const { taken } = await claims.reclaimExpired(10)
  const claim = taken.find(({ event }) => event.id === eventId)
  if (claim === undefined) throw new Error('Nothing was taken over')
  return claim
}

function idsOf(claims: readonly Claim[]): string[] {
  return claims.map(({ event }) => event.id)
}

describe('claimDue', () => {
  it('takes the longest due first, those without a time before all, and nothing that is due later', async () => {
    await using open = await openFresh()
    await storePending(open, ['a', 'b', 'c', 'd', 'later'])
    await change(open, 'a', { $set: { dueAt: fromNow(-1_000) } })
    await change(open, 'c', { $set: { dueAt: fromNow(-2_000) } })
    await change(open, 'd', { $set: { dueAt: fromNow(-3_000) } })
    await change(open, 'later', { $set: { dueAt: fromNow(60_000) } })
    const claims = open.claims()
    expect(idsOf(await claims.claimDue(3))).toEqual(['b', 'd', 'c'])
    expect(idsOf(await claims.claimDue(3))).toEqual(['a'])
    expect(await claims.claimDue(3)).toEqual([])
    expect(await open.record('later')).toMatchObject({ state: 'pending', fence: 0, starts: 0 })
  })

  it('shares the places between records without a time and those whose time has come', async () => {
    await using open = await openFresh()
    await storePending(open, ['a', 'b', 'c', 'd', 'e', 'f', 'retry', 'later'])
    await change(open, 'retry', { $set: { dueAt: fromNow(-1_000) } })
    await change(open, 'later', { $set: { dueAt: fromNow(60_000) } })
    const claims = open.claims()
    expect(idsOf(await claims.claimDue(3))).toEqual(['a', 'b', 'retry'])
    expect(await claims.claimDue(4)).toHaveLength(4)
    expect(await claims.claimDue(4)).toEqual([])
  })

  it('lets neither of the two wait for ever where one record is taken at a time', async () => {
    await using open = await openFresh()
    await storePending(open, ['a', 'b', 'c', 'd', 'x', 'y'])
    for (const id of ['x', 'y']) await change(open, id, { $set: { dueAt: fromNow(-1_000) } })
    const claims = open.claims()
    const taken: string[] = []
    for (let times = 0; times < 4; times += 1) taken.push(...idsOf(await claims.claimDue(1)))
    expect(taken.filter((id) => ['x', 'y'].includes(id))).toHaveLength(2)
  })

  it('raises the fence, counts the start and sets the lease by the clock of the database', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const before = await serverNow(open)
    const claim = await claimOne(open.claims({ owner: 'me', leaseMs: 30_000 }))
    const after = await serverNow(open)
    const record = await open.record('a')
    expect(claim).toEqual({
      ...{
        _id: record._id,
        provider: 'acme',
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
    expect(record.leaseUntil?.getTime()).toBeGreaterThanOrEqual(before + 30_000)
    expect(record.leaseUntil?.getTime()).toBeLessThanOrEqual(after + 30_000)
  })

  it('takes a record that was put off when its time has come', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims()
    const claim = await claimOne(claims)
    await claims.settle([{ claim, settlement: { state: 'pending', delayMs: 150 }, attempt: failed }])
    await expect.poll(async () => idsOf(await claims.claimDue(1)), { interval: 20 }).toEqual(['a'])
    const { leaseUntil, lastError } = await open.record('a')
    expect((leaseUntil?.getTime() ?? 0) - 30_000).toBeGreaterThanOrEqual((lastError?.at.getTime() ?? 0) + 150)
  })

  it('lets each record go to one of many that ask at the same time', async () => {
    await using open = await openFresh()
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

  it('tells for how long an event has been failing', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    await change(open, 'a', { $set: { failures: 3, firstFailedAt: fromNow(-60_000) } })
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
    await using open = await openFresh()
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

  it('is claimed, taken over and settled beside the others also where its id is a text', async () => {
    await using open = await openFresh()
    await storePending(open, ['a', 'b'])
    const _id = '6741ac0fb7c9a2d1e8f00001' as never
    await open.events.insertOne({ ...(await open.record('a')), _id, eventId: 'imported' })
    const claims = open.claims()
    expect(idsOf(await claims.claimDue(10)).toSorted()).toEqual(['a', 'b', 'imported'])
    await open.events.updateMany({}, [{ $set: { leaseUntil: fromNow(-1), leaseOwner: 'a dead process' } }])
    const { taken } = await claims.reclaimExpired(10)
    expect(idsOf(taken).toSorted()).toEqual(['a', 'b', 'imported'])
    const settled = taken.map((claim) => ({ claim, settlement: done, attempt: applied }))
    expect(await claims.settle(settled)).toEqual([])
    expect(await claims.settle(settled)).toEqual([])
    expect(await open.events.countDocuments({ state: 'done' })).toBe(3)
  })

  it('has texts where the code reads texts', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    await open.events.updateOne({ eventId: 'a' }, {
      $unset: { type: '', objectId: '', orderId: '', requestId: '', facts: '' },
    } as never)
    const event = { id: 'a', type: '', objectId: '', facts: { orderId: '' } }
    expect(await claimOne(open.claims())).toMatchObject({ requestId: '', event })
  })
})

describe('reclaimExpired', () => {
  it('leaves an initial claim alone until its lease has surely ended', async () => {
    await using open = await openFresh()
    const other = open.claims({ owner: 'other', leaseMs: 30_000 })
    const { eventId, taken } = await lookInLastSecond(open, other)
    expect(taken).toEqual([])
    await setClaimedAt(open, eventId, (await serverSecond(open)) - 32)
    const [claim] = (await other.reclaimExpired(10)).taken
    expect(claim).toMatchObject({ fence: 2, lost: 1, event: { id: eventId } })
    expect(await open.record(eventId)).toMatchObject({ leaseOwner: 'other', starts: 2, lost: 1, state: 'processing' })
  })

  it('leaves a claim alone that was made or renewed less than a lease ago', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    await open.inbox.record(sampleArrival('initial'))
    const mine = open.claims({ leaseMs: 30_000 })
    await claimOne(mine)
    await open.events.updateOne({ eventId: 'initial' }, { $set: { claimedAt: new Timestamp({ t: 1, i: 1 }) } })
    await mine.renew(open.claimedOnInsert)
    expect((await open.claims({ owner: 'other' }).reclaimExpired(10)).taken).toEqual([])
  })

  it('takes at most as many as asked for', async () => {
    await using open = await openFresh()
    const ids = ['a', 'b', 'c']
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    for (const id of ids) await change(open, id, { $set: { leaseUntil: fromNow(-1) } })
    const other = open.claims({ owner: 'other' })
    expect((await other.reclaimExpired(2)).taken).toHaveLength(2)
    expect((await other.reclaimExpired(2)).taken).toHaveLength(1)
    expect((await other.reclaimExpired(2)).taken).toHaveLength(0)
  })

  it('lets each record go to one of two that ask at the same time', async () => {
    await using open = await openFresh()
    const ids = Array.from({ length: 50 }, (_, index) => `e${index}`)
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id))))
    await open.events.updateMany({}, [{ $set: { leaseUntil: fromNow(-1) } }])
    const taken = await Promise.all(['one', 'two'].map((owner) => open.claims({ owner }).reclaimExpired(50)))
    expect(idsOf(taken.flatMap((one) => one.taken)).sort()).toEqual([...ids].sort())
    expect(await open.events.countDocuments({ fence: 2, starts: 2 })).toBe(50)
  })

  it('buries a record whose holders died again and again without a verdict', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = await steadyClaims(open, { maxCrashes: 3 })
    for (const lost of [1, 2]) {
      const claim = await takeOverOne(open, claims, 'a')
      expect(claim.lost).toBe(lost)
      await claims.begin([claim], 'alone')
    }
    await change(open, 'a', { $set: { leaseUntil: fromNow(-1), leaseOwner: 'a dead process' } })
    expect(await claims.reclaimExpired(10)).toEqual({ taken: [], poisoned: 1 })
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'dead', reason: 'worker_died', starts: 3, lost: 2 })
    expect(record.lastError).toMatchObject({ code: 'worker_died', at: expect.any(Date) })
    expect(record.settledAt).toBeInstanceOf(Date)
    for (const member of ['leaseOwner', 'leaseUntil', 'claimedAt', 'begun', 'losses', 'expireAt'])
      expect(record).not.toHaveProperty(member)
    expect(await claims.reclaimExpired(10)).toEqual({ taken: [], poisoned: 0 })
  })

  it('buries nothing that only waited in the memory of those who died, however many', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims({ maxCrashes: 3 })
    for (let deaths = 0; deaths < 10; deaths += 1) expect((await takeOverOne(open, claims, 'a')).lost).toBe(1)
    expect(await open.record('a')).toMatchObject({ state: 'processing', starts: 11, lost: 1 })
  })

  it('counts a death for one that was being tried, and not for its next holder, who never came to it', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims({ maxCrashes: 3 })
    await claims.begin([await takeOverOne(open, claims, 'a')], 'alone')
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(2)
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(2)
  })

  it('counts no death for one that was tried together with others: it makes each of them a suspect', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims({ maxCrashes: 3 })
    await claims.begin([await takeOverOne(open, claims, 'a')], 'together')
    const suspect = await takeOverOne(open, claims, 'a')
    expect(suspect.lost).toBe(2)
    await claims.begin([suspect], 'together')
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(3)
  })

  it('buries nothing that got a verdict in between', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims({ maxCrashes: 3 })
    await claims.begin([await takeOverOne(open, claims, 'a')], 'alone')
    const claim = await takeOverOne(open, claims, 'a')
    await claims.begin([claim], 'alone')
    await claims.settle([{ claim, settlement: { state: 'pending', delayMs: 0 }, attempt: failed }])
    expect((await claimOne(claims)).lost).toBe(0)
    expect((await takeOverOne(open, claims, 'a')).lost).toBe(1)
  })
})

describe('a lease that runs out without a death', () => {
  it('is no loss where the process takes over its own, as after an outage', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims({ maxCrashes: 2 })
    for (let outages = 0; outages < 5; outages += 1) {
      await change(open, 'a', { $set: { leaseUntil: fromNow(-1) } })
      const [claim] = (await claims.reclaimExpired(10)).taken
      expect(claim).toMatchObject({ lost: 0 })
      await claims.begin(claim === undefined ? [] : [claim], 'alone')
    }
  })

  it('leaves the process what it still holds, with a new lease', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims()
    await change(open, 'a', { $set: { leaseUntil: fromNow(-1) } })
    expect((await claims.reclaimExpired(10, open.claimedOnInsert)).taken).toEqual([])
    expect((await open.claims({ owner: 'other' }).reclaimExpired(10)).taken).toEqual([])
    expect(await open.record('a')).toMatchObject({ fence: 1, lost: 0 })
  })

  it('is no loss where its owner lives', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    await open.claims().beat()
    await change(open, 'a', { $set: { leaseUntil: fromNow(-1) } })
    expect((await open.claims({ owner: 'other' }).reclaimExpired(10)).taken).toMatchObject([{ lost: 0 }])
  })

  it('is no loss where a majority did not confirm the claim', async () => {
    await using open = await openFresh()
    await storePending(open, ['a', 'b'])
    const claims = open.claims()
    await claims.beat()
    {
      const how = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }
      await using _ = await armFailPoint(open.database.uri, {
        commands: ['update'],
        appName: open.appName,
        times: 1,
        how,
      })
      await expect(claims.claimDue(10)).rejects.toThrow()
    }
    expect(await open.events.countDocuments({ state: 'processing', lost: 0 })).toBe(2)
    await open.events.updateMany({}, [{ $set: { leaseUntil: fromNow(-1) } }])
    expect((await open.claims({ owner: 'other' }).reclaimExpired(1)).taken).toMatchObject([{ lost: 0 }])
    expect((await claims.reclaimExpired(1)).taken).toMatchObject([{ lost: 0 }])
  })

  it('uses up no budget, however many outages let it run out while it is tried', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const one = await steadyClaims(open, { owner: 'one', maxCrashes: 3 })
    const two = await steadyClaims(open, { owner: 'two', maxCrashes: 3 })
    for (const taker of [one, two, one, two, one, two, one, two]) {
      // An hour has passed. Both processes beat after the last outage, and not since this one began.
      await open.db.collection('owners').updateMany({}, [{ $set: { aliveAt: fromNow(-20_000) } }])
      const before = { $map: { input: '$losses', in: { owner: '$$this.owner', at: fromNow(-HOUR_MS) } } }
      await change(open, 'a', { $set: { leaseUntil: fromNow(-1), losses: { $ifNull: [before, '$losses'] } } })
      const { taken, poisoned } = await taker.reclaimExpired(10)
      expect(poisoned).toBe(0)
      expect(taken).toHaveLength(1)
      await taker.begin(taken, 'alone')
    }
    expect(await open.record('a')).toMatchObject({ state: 'processing' })
  })

  it('is not judged by a process that has only just got through to the database', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    await change(open, 'a', { $set: { lost: 2, begun: true, leaseOwner: 'silent', leaseUntil: fromNow(-1) } })
    const fresh = open.claims({ owner: 'fresh', maxCrashes: 3 })
    await fresh.beat()
    expect(await fresh.reclaimExpired(10)).toEqual({ taken: [], poisoned: 0 })
    const steady = await steadyClaims(open, { owner: 'steady', maxCrashes: 3 })
    expect(await steady.reclaimExpired(10)).toEqual({ taken: [], poisoned: 1 })
  })
})

describe('release', () => {
  it('puts a claim back: due at once, with nothing counted against it, however often', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims({ maxCrashes: 3 })
    await claims.release(open.claimedOnInsert)
    for (let times = 0; times < 6; times += 1) {
      const claim = await claimOne(claims)
      expect(claim).toMatchObject({ lost: 0, failures: 0, failedForMs: 0 })
      await claims.release([claim])
    }
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'pending', lost: 0, failures: 0, attempts: [], lastError: null })
    for (const member of ['leaseOwner', 'leaseUntil', 'claimedAt', 'begun']) expect(record).not.toHaveProperty(member)
  })

  it('counts nothing for it either: what may kill its holder stays under suspicion', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims()
    const suspect = await takeOverOne(open, claims, 'a')
    await claims.release([suspect])
    expect((await claimOne(claims)).lost).toBe(1)
  })
})

describe('the fence', () => {
  it('keeps a stale claim from settling, renewing and releasing', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const stale = open.claims()
    const [old] = open.claimedOnInsert
    if (old === undefined) throw new Error('No claim was made on insert')
    const fresh = open.claims({ owner: 'other' })
    const current = await takeOverOne(open, fresh, 'a')
    const held = await open.record('a')
    expect(await stale.settle([{ claim: old, settlement: done, attempt: applied }])).toHaveLength(1)
    expect(
      await stale.settle([{ claim: old, settlement: { state: 'pending', delayMs: 0 }, attempt: failed }]),
    ).toHaveLength(1)
    expect(
      await stale.settle([{ claim: old, settlement: { state: 'dead', reason: 'x' }, attempt: failed }]),
    ).toHaveLength(1)
    await stale.renew([old])
    await stale.release([old])
    expect(await open.record('a')).toEqual(held)
    expect(await fresh.settle([{ claim: current, settlement: done, attempt: applied }])).toHaveLength(0)
    const settled = await open.record('a')
    expect(
      await stale.settle([{ claim: old, settlement: { state: 'dead', reason: 'x' }, attempt: failed }]),
    ).toHaveLength(1)
    expect(await open.record('a')).toEqual(settled)
  })

  it('tells apart two claims of the same process', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims()
    const [old] = open.claimedOnInsert
    if (old === undefined) throw new Error('No claim was made on insert')
    const current = await takeOverOne(open, claims, 'a')
    expect(await claims.settle([{ claim: old, settlement: done, attempt: applied }])).toHaveLength(1)
    expect(await claims.settle([{ claim: current, settlement: done, attempt: applied }])).toHaveLength(0)
  })

  it('keeps two owners apart who hold the same fence, as after a rollback', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claim = await claimOne(open.claims({ owner: 'one' }))
    expect(await open.claims({ owner: 'two' }).settle([{ claim, settlement: done, attempt: applied }])).toHaveLength(1)
  })

  it('lets a claim settle once', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims()
    const claim = await claimOne(claims)
    expect(await claims.settle([{ claim, settlement: done, attempt: applied }])).toHaveLength(0)
    expect(
      await claims.settle([{ claim, settlement: done, attempt: applied }]),
      'again, as after a lost answer',
    ).toEqual([])
    expect((await open.record('a')).attempts).toHaveLength(1)
  })
})

describe('settle', () => {
  it('settles for good: outcome, time, the end of retention, and no hold any more', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims({ retentionMs: HOUR_MS })
    await claims.settle([{ claim: await claimOne(claims), settlement: done, attempt: applied }])
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'done', reason: null, outcome: { kind: 'applied', version: 2 }, lost: 0 })
    expect(record.attempts).toEqual([{ at: record.settledAt, ...applied }])
    expect(record.expireAt?.getTime()).toBe((record.settledAt?.getTime() ?? 0) + HOUR_MS)
    expect(record.raw.toString()).toBe('the body of a')
    for (const member of ['leaseOwner', 'leaseUntil', 'claimedAt', 'claim', 'dueAt']) {
      expect(record).not.toHaveProperty(member)
    }
  })

  it('buries for good with a reason and never lets it expire', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims()
    const attempt = { ms: 1, outcome: 'dead', code: 'amount_mismatch', message: 'The amount is another' }
    const settlement = { state: 'dead', reason: 'amount_mismatch' } as const
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt }])
    const record = await open.record('a')
    expect(record).toMatchObject({
      ...{ state: 'dead', reason: 'amount_mismatch', failures: 1, attempts: [attempt] },
      lastError: { code: 'amount_mismatch', message: 'The amount is another', at: record.settledAt },
    })
    expect(record).not.toHaveProperty('expireAt')
  })

  it('puts off, counts the failures and remembers since when', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims()
    const settlement = { state: 'pending', delayMs: 0 } as const
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: failed }])
    const first = await open.record('a')
    expect(first).toMatchObject({ state: 'pending', failures: 1, lastError: { code: 'unavailable' } })
    expect(first.dueAt).toEqual(first.firstFailedAt)
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: { ...failed, code: 'internal' } }])
    const second = await open.record('a')
    expect(second).toMatchObject({ failures: 2, starts: 2, fence: 2, lastError: { code: 'internal' } })
    expect(second.firstFailedAt).toEqual(first.firstFailedAt)
    expect(second.attempts.map(({ code }) => code)).toEqual(['unavailable', 'internal'])
  })

  it('keeps the newest fifty attempts', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims()
    for (let ms = 1; ms <= 53; ms += 1) {
      const claim = await claimOne(claims)
      await claims.settle([{ claim, settlement: { state: 'pending', delayMs: 0 }, attempt: { ...failed, ms } }])
    }
    const record = await open.record('a')
    expect(record.attempts.map(({ ms }) => ms)).toEqual(Array.from({ length: 50 }, (_, index) => index + 4))
    expect(record.failures).toBe(53)
  })

  it('takes texts that begin with a dollar sign for nothing but texts', async () => {
    await using open = await openFresh()
    await storePending(open, ['a', 'b', 'c'])
    const claims = open.claims()
    const texts = { ms: 1, outcome: '$eventId', code: '$$NOW', message: '$raw' }
    const [a, b, c] = await claims.claimDue(3)
    if (!a || !b || !c) throw new Error('Three were due')
    await claims.settle([
      { claim: a, settlement: { state: 'dead', reason: '$$ROOT' }, attempt: texts },
      { claim: b, settlement: { state: 'done', outcome: { kind: '$type', version: 1 } }, attempt: texts },
      { claim: c, settlement: { state: 'pending', delayMs: 0 }, attempt: texts },
    ])
    const lastError = { code: '$$NOW', message: '$raw' }
    expect(await open.record('a')).toMatchObject({ reason: '$$ROOT', attempts: [texts], lastError })
    expect(await open.record('b')).toMatchObject({ outcome: { kind: '$type', version: 1 }, attempts: [texts] })
    expect(await open.record('c')).toMatchObject({ state: 'pending', attempts: [texts], lastError })
  })

  it('writes the outcomes of many claims by one command, each its own, and looks for those that were lost', async () => {
    await using open = await openFresh()
    const ids = Array.from({ length: 60 }, (_, index) => `e${index}`)
    await storePending(open, ids)
    const claims = open.claims()
    const held = await claims.claimDue(60)
    await open.events.updateMany({ eventId: { $in: ['e3', 'e4'] } }, { $set: { fence: 9 } })
    const settlements: Settlement[] = [done, { state: 'dead', reason: 'x' }, { state: 'pending', delayMs: HOUR_MS }]
    const settled = held.map((claim, index) => ({
      ...{ claim, attempt: index % 3 === 0 ? applied : failed },
      settlement: settlements[index % 3] ?? done,
    }))
    open.commands.length = 0
    expect(await claims.settle(settled)).toHaveLength(2)
    expect(open.commands.map(({ commandName }) => commandName)).toEqual(['update', 'find'])
    for (const { claim, settlement } of settled) {
      const stale = ['e3', 'e4'].includes(claim.event.id)
      expect((await open.record(claim.event.id)).state).toBe(stale ? 'processing' : settlement.state)
    }
    expect(await claims.settle([])).toHaveLength(0)
  })

  it('counts how long an order has been unknown from the first time, not from an outage before it', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims()
    const settlement = { state: 'pending', delayMs: 0 } as const
    const unknown = { ...failed, code: 'order_unknown' }
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: failed }])
    await change(open, 'a', { $set: { firstFailedAt: fromNow(-2 * HOUR_MS) } })
    const first = await claimOne(claims)
    expect(first).toMatchObject({ orderUnknownForMs: 0 })
    expect(first.failedForMs).toBeGreaterThanOrEqual(2 * HOUR_MS)
    await claims.settle([{ claim: first, settlement, attempt: unknown }])
    await change(open, 'a', { $set: { orderUnknownSince: fromNow(-HOUR_MS / 2) } })
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: unknown }])
    const later = await claimOne(claims)
    expect(later.orderUnknownForMs).toBeGreaterThanOrEqual(HOUR_MS / 2)
    expect(later.orderUnknownForMs).toBeLessThan(HOUR_MS)
    // After a replay, earlier failures no longer count.
    await claims.release([later])
    await change(open, 'a', { $unset: 'firstFailedAt' })
    const replayed = await claimOne(claims)
    expect(replayed).toMatchObject({ orderUnknownForMs: 0, failedForMs: 0 })
    await claims.settle([{ claim: replayed, settlement, attempt: unknown }])
    expect((await claimOne(claims)).orderUnknownForMs).toBeLessThan(60_000)
  })
})

describe('after the clock of the database was ahead', () => {
  it('takes what was put off until a time that is never set', async () => {
    await using open = await openFresh()
    await storePending(open, ['lost in time', 'later'])
    await change(open, 'lost in time', { $set: { dueAt: fromNow(HOUR_MS) } })
    await change(open, 'later', { $set: { dueAt: fromNow(500_000) } })
    expect(idsOf(await open.claims({ maxDelayMs: 500_000 }).claimDue(10))).toEqual(['lost in time'])
  })

  it('takes over what has a lease that is never given, and an initial claim from the future', async () => {
    await using open = await openFresh()
    for (const id of ['a', 'b', 'c']) await open.inbox.record(sampleArrival(id))
    await change(open, 'a', { $set: { leaseUntil: fromNow(HOUR_MS) } })
    await setClaimedAt(open, 'b', (await serverSecond(open)) + 3_600)
    await change(open, 'c', { $set: { leaseUntil: fromNow(29_000) } })
    const { taken } = await open.claims({ owner: 'other' }).reclaimExpired(10)
    expect(idsOf(taken).sort()).toEqual(['a', 'b'])
  })
})

describe('the time for which an event fails', () => {
  const unknown: AttemptResult = { ...failed, code: 'order_unknown' }
  const settlement = { state: 'pending', delayMs: 0 } as const
  const maxDelayMs = 600_000
  // Between two attempts no more than this counts: the longest wait and a minute.
  const MAX_GAP_MS = 660_000

  /** Lets an attempt fail, and moves all times that it has set. */
  async function failOnce(open: FreshInbox, claims: Claims, { movedMs = 0, attempt = unknown }): Promise<void> {
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt }])
    const times = ['firstFailedAt', 'orderUnknownSince', 'lastError.at', 'dueAt']
    const record: Document = await open.record('a')
    const moved = times.filter((name) => name.includes('.') || record[name] !== undefined)
    await change(open, 'a', {
      $set: Object.fromEntries(moved.map((name) => [name, { $add: [`$${name}`, movedMs] }])),
    })
  }

  it('counts no hour that a clock was set forward by', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    await failOnce(open, claims, { movedMs: -HOUR_MS })
    const second = await claimOne(claims)
    expect(second).toMatchObject({ failedForMs: MAX_GAP_MS, orderUnknownForMs: MAX_GAP_MS })
    await claims.release([second])
    await failOnce(open, claims, { attempt: failed })
    const third = await claimOne(claims)
    for (const ms of [third.failedForMs, third.orderUnknownForMs]) {
      expect(ms).toBeGreaterThanOrEqual(MAX_GAP_MS)
      expect(ms).toBeLessThan(MAX_GAP_MS + 60_000)
    }
  })

  it('goes on from the right time after a clock was set back', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    await failOnce(open, claims, { movedMs: 24 * HOUR_MS })
    const second = await claimOne(claims)
    expect(second).toMatchObject({ failedForMs: 0, orderUnknownForMs: 0 })
    await claims.release([second])
    await failOnce(open, claims, { movedMs: -HOUR_MS / 10 })
    const third = await claimOne(claims)
    for (const ms of [third.failedForMs, third.orderUnknownForMs]) {
      expect(ms).toBeGreaterThanOrEqual(HOUR_MS / 10)
      expect(ms).toBeLessThan(HOUR_MS / 10 + 60_000)
    }
  })

  it('counts all tries that follow each other in time', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    for (let tries = 0; tries < 5; tries += 1) await failOnce(open, claims, { movedMs: -maxDelayMs })
    const { failedForMs, orderUnknownForMs } = await claimOne(claims)
    expect(failedForMs).toBeGreaterThanOrEqual(5 * maxDelayMs)
    expect(orderUnknownForMs).toBeGreaterThanOrEqual(5 * maxDelayMs)
  })
})

describe('a lease of another length, as in a rolling restart with another LEASE_MS', () => {
  it('holds for as long as its holder says', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    await claimOne(open.claims({ owner: 'long', leaseMs: 120_000 }))
    const short = open.claims({ owner: 'short', leaseMs: 30_000 })
    expect((await short.reclaimExpired(10)).taken).toEqual([])
    await change(open, 'a', { $set: { leaseUntil: fromNow(250_000) } })
    expect(idsOf((await short.reclaimExpired(10)).taken), 'a lease that the holder never takes').toEqual(['a'])
  })

  it('counts for an initial claim too', async () => {
    await using open = await openFresh()
    await using long = await openInbox(open.database, { leaseMs: 120_000 })
    await long.inbox.record(sampleArrival('a'))
    const short = open.claims({ owner: 'short', leaseMs: 30_000 })
    await setClaimedAt(open, 'a', (await serverSecond(open)) - 90)
    expect((await short.reclaimExpired(10)).taken).toEqual([])
    await setClaimedAt(open, 'a', (await serverSecond(open)) - 122)
    expect(idsOf((await short.reclaimExpired(10)).taken)).toEqual(['a'])
  })

  it('tells for how long its holder is believed to live', async () => {
    await using open = await openFresh()
    await open.inbox.record(sampleArrival('a'))
    await open.claims({ owner: 'long', leaseMs: 120_000 }).beat()
    await open.db.collection('owners').updateOne({}, [{ $set: { aliveAt: fromNow(-50_000) } }])
    await change(open, 'a', { $set: { leaseUntil: fromNow(-1), leaseOwner: 'long' } })
    expect((await open.claims({ owner: 'short', leaseMs: 30_000 }).reclaimExpired(10)).taken).toMatchObject([
      { lost: 0 },
    ])
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
      .find({ ns: `${db.databaseName}.events` })
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

  it('of ten thousand records due later, looks at none of them', async () => {
    await using open = await openFresh()
    await storeMany(open, 10_000, { state: 'pending', dueAt: new Date(Date.now() + HOUR_MS) })
    const claims = open.claims({ maxDelayMs: HOUR_MS })
    const byDueTime = 'IXSCAN { state: 1, dueAt: 1 }'
    expect(await examined(open, () => claims.claimDue(500))).toEqual([
      { op: 'query', planSummary: `${byDueTime}, ${byDueTime}`, docsExamined: 0, keysExamined: 0 },
    ])
  })

  it('of ten thousand records due now, looks at as many as it takes', async () => {
    await using open = await openFresh()
    await storeMany(open, 10_000, { state: 'pending', dueAt: new Date(Date.now() - HOUR_MS) })
    const claims = open.claims()
    const taken: Claim[] = []
    const looks = await examined(open, async () => {
      taken.push(...(await claims.claimDue(50)))
      await claims.renew(taken)
      await claims.settle(taken.map((claim) => ({ claim, settlement: done, attempt: applied })))
    })
    expect(taken).toHaveLength(50)
    expect(looks.length).toBeGreaterThanOrEqual(5)
    for (const { planSummary, docsExamined, keysExamined } of looks) {
      expect(planSummary).toMatch(/^IXSCAN/)
      expect(docsExamined).toBeLessThanOrEqual(50)
      expect(keysExamined).toBeLessThanOrEqual(101)
    }
  })

  it('of ten thousand settled records, a takeover looks at none of them', async () => {
    await using open = await openFresh()
    await storeMany(open, 10_000, { state: 'done' })
    await open.inbox.record(sampleArrival('a'))
    await change(open, 'a', { $set: { leaseUntil: fromNow(-1) } })
    const looks = await examined(open, async () => {
      expect((await open.claims().reclaimExpired(10)).taken).toHaveLength(1)
    })
    for (const { planSummary, docsExamined } of looks) {
      expect(planSummary).toMatch(/^IXSCAN/)
      expect(docsExamined).toBeLessThanOrEqual(1)
    }
  })

  it('has its claims in memory, no body among them', async () => {
    await using open = await openFresh()
    await storePending(open, ['a'])
    const claim = await claimOne(open.claims())
    expect(JSON.stringify(claim)).not.toContain('the body of')
  })
})
