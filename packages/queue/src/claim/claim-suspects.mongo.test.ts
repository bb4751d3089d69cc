import { describe, expect, it } from 'vitest'
import { pausedDueAt } from '../pauses.ts'
import {
  again,
  changeRecord,
  claimOne,
  endClaims,
  failed,
  fromNow,
  idsOf,
  type OpenQueue,
  openFreshQueue,
  serverNow,
  storeClaimed,
  storePending,
  takeOverOne,
} from '../testing/open-queue.ts'
import { sampleTask } from '../testing/sample-task.ts'
import type { Claims } from './claims.ts'
import { Steadiness } from './steadiness.ts'

const NOTHING = { claims: [], buried: 0 }
const MINUTE_MS = 60_000

/** Stores an event whose only call broke, and that may be tried again at once. */
async function storeBroken(open: OpenQueue, claims: Claims, id: string): Promise<void> {
  await storePending(open, [id])
  await breakCall(claims, await claims.claimDue(1))
}

async function breakCall(claims: Claims, held: Awaited<ReturnType<Claims['claimDue']>>): Promise<void> {
  const settled = held.map((claim) => ({ claim, settlement: { ...again(), broke: new Date() }, attempt: failed }))
  expect(await claims.settle(settled)).toEqual([])
}

/** A process that may not say yet that others have died. */
function unsteady(): Steadiness {
  return new Steadiness(
    10_000,
    () => 0,
    async () => undefined,
  )
}

describe('a task whose claim has ended', () => {
  it('is taken over under another name, counts as lost once, and not before the end', async () => {
    await using open = await openFreshQueue(process.env)
    const claim = await storeClaimed(open, 'a')
    const claims = open.claims({ lastsMs: 30_000 })
    expect(await claims.claimSuspects(null, 10)).toEqual(NOTHING)
    await endClaims(open)
    const before = await serverNow(open)
    const { claims: taken } = await claims.claimSuspects(null, 10)
    expect(taken).toMatchObject([{ _id: claim._id, starts: 2, lost: 1, eventId: claim.eventId }])
    expect(taken[0]?.claim).not.toBe(claim.claim)
    expect(taken[0]?.endsAt).toBeGreaterThanOrEqual(before + 30_000)
    expect(await open.record('a')).toMatchObject({ state: 'processing', claim: taken[0]?.claim, lost: 1 })
    expect(await claims.claimSuspects(null, 10)).toEqual(NOTHING)
  })

  it.each([
    ['was ahead by more than any claim or delay lasts', MINUTE_MS + 1_000, ['a']],
    ['differs by less than a minute', MINUTE_MS - 5_000, []],
  ])('counts as ended if the clock that set it %s', async (_, aheadMs, taken) => {
    await using open = await openFreshQueue(process.env)
    await storeClaimed(open, 'a')
    const [lastsMs, maxDelayMs] = [30_000, 100_000]
    await changeRecord(open, 'a', { $set: { dueAt: fromNow(maxDelayMs + aheadMs) } })
    expect(idsOf((await open.claims({ lastsMs, maxDelayMs }).claimSuspects(null, 10)).claims)).toEqual(taken)
  })

  it('is left alone by a process that the database has only just answered, unlike one whose call broke', async () => {
    await using open = await openFreshQueue(process.env)
    const claims = open.claims()
    await storeBroken(open, claims, 'broken')
    await storeClaimed(open, 'held')
    await endClaims(open, { eventId: 'held' })
    const fresh = open.claims({ steadiness: unsteady(), maxCrashes: 1 })
    expect(idsOf((await fresh.claimSuspects(null, 10)).claims)).toEqual(['broken'])
    expect(await open.record('held')).toMatchObject({ state: 'processing', lost: 0 })
  })

  it('counts each death in a row, and none after a result', async () => {
    await using open = await openFreshQueue(process.env)
    await storeClaimed(open, 'a')
    const claims = open.claims()
    for (const lost of [1, 2, 3]) expect(await takeOverOne(open, claims, 'a')).toMatchObject({ lost })
    const claim = await takeOverOne(open, claims, 'a')
    await claims.settle([{ claim, settlement: again(), attempt: failed }])
    expect(await claimOne(claims)).toMatchObject({ lost: 0 })
    expect(await takeOverOne(open, claims, 'a')).toMatchObject({ lost: 1 })
  })
})

describe('a task whose call broke', () => {
  it('is no due task, and waits as long as it was put off', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const claims = open.claims()
    const brokeAt = new Date()
    const settlement = { ...again(MINUTE_MS), broke: brokeAt }
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: failed }])
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'processing', brokeAt, failing: { times: 1, waitedMs: MINUTE_MS } })
    expect(record).not.toHaveProperty('claim')
    expect([await claims.claimDue(1), await claims.claimSuspects(null, 10)]).toEqual([[], NOTHING])
    await endClaims(open)
    expect(await claims.claimDue(1)).toEqual([])
    expect(idsOf((await claims.claimSuspects(null, 10)).claims)).toEqual(['a'])
  })

  it.each([
    ['nothing without a verdict on another task: that was an outage', () => null, 0],
    ['nothing if the latest verdict was before it', (brokeAt: Date) => new Date(brokeAt.getTime() - 1), 0],
    ['a loss if there was a verdict after it', (brokeAt: Date) => new Date(brokeAt.getTime() + 1), 1],
  ])('counts %s', async (_, verdictAt, lost) => {
    await using open = await openFreshQueue(process.env)
    const claims = open.claims()
    await storeBroken(open, claims, 'a')
    const { brokeAt } = await open.record('a')
    if (brokeAt === undefined) throw new Error('No call broke')
    const found = await claims.claimSuspects(verdictAt(brokeAt), 10)
    expect(found).toMatchObject({ claims: [{ lost }], buried: 0 })
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'processing', lost })
    // What does not count yet may count after the next verdict.
    expect(record.brokeAt).toEqual(lost === 0 ? brokeAt : undefined)
  })

  it('stays a suspect while its handler is not reached, and is none after an answer', async () => {
    await using open = await openFreshQueue(process.env)
    await storeClaimed(open, 'suspect')
    const claims = open.claims()
    const unreached = { ...again(), broke: false } as const
    const suspect = await takeOverOne(open, claims, 'suspect')
    await storePending(open, ['innocent'])
    const settled = [suspect, await claimOne(claims)].map((claim) => ({
      claim,
      settlement: unreached,
      attempt: failed,
    }))
    expect(await claims.settle(settled)).toEqual([])
    expect(await open.record('innocent')).toMatchObject({ state: 'pending', lost: 0 })
    const { claims: taken } = await claims.claimSuspects(new Date(Date.now() + MINUTE_MS), 10)
    expect(taken).toMatchObject([{ eventId: 'suspect', lost: 1, failures: 1 }])
    await claims.settle(taken.map((claim) => ({ claim, settlement: again(), attempt: failed })))
    expect(await open.record('suspect')).toMatchObject({ state: 'pending', lost: 0 })
  })
})

describe('suspects', () => {
  /** Stores tasks whose processes died, the first of them due for the longest time. */
  async function storeLost(open: OpenQueue, losses: readonly number[]): Promise<void> {
    const now = await serverNow(open)
    const lost = (times: number, index: number) =>
      sampleTask({
        ...{ eventId: `e${index}`, state: 'processing', claim: 'of a dead process', lost: times },
        dueAt: new Date(now - 100_000 + index),
      })
    await open.events.insertMany(losses.map(lost))
  }

  it('are dead after too many losses in a row, with the cause of the last', async () => {
    await using open = await openFreshQueue(process.env)
    const ended = { state: 'processing', lost: 2, dueAt: new Date(0) } as const
    const brokeAt = new Date(1_000)
    await open.events.insertMany([
      sampleTask({ ...ended, eventId: 'killer', claim: 'of a dead process' }),
      sampleTask({ ...ended, eventId: 'breaker', brokeAt }),
      sampleTask({ ...ended, eventId: 'later', brokeAt, lost: 1 }),
    ])
    const claims = open.claims({ maxCrashes: 3, callBroke: 'billing_failed' })
    const found = await claims.claimSuspects(new Date(2_000), 10)
    expect([found.buried, idsOf(found.claims)]).toEqual([2, ['later']])
    for (const [id, reason] of Object.entries({ killer: 'worker_died', breaker: 'billing_failed' })) {
      const record = await open.record(id)
      expect(record).toMatchObject({ state: 'dead', reason, attempts: [{ code: reason, at: record.settledAt }] })
      for (const member of ['claim', 'dueAt', 'brokeAt', 'expireAt']) expect(record).not.toHaveProperty(member)
    }
  })

  it('of a paused provider wait for it as pending, with their losses', async () => {
    await using open = await openFreshQueue(process.env)
    await storeLost(open, [0, 1])
    const dueAt = pausedDueAt('acme')
    const claims = open.claims({ paused: () => new Map([['acme', dueAt]]) })
    expect(await claims.claimSuspects(null, 10)).toEqual(NOTHING)
    expect(await open.record('e0')).toMatchObject({ state: 'pending', dueAt, lost: 1 })
    expect(await open.record('e1')).toMatchObject({ state: 'pending', dueAt, lost: 2 })
    expect(await open.record('e0')).not.toHaveProperty('claim')
  })
})

describe('a task that was lost, and is pending', () => {
  it('becomes a suspect again, and is not claimed with others', async () => {
    await using open = await openFreshQueue(process.env)
    const due = { state: 'pending', dueAt: new Date(0) } as const
    await open.events.insertMany([
      sampleTask({ ...due, eventId: 'lost', lost: 1, starts: 1 }),
      sampleTask({ ...due, eventId: 'other' }),
    ])
    const claims = open.claims()
    expect((await claims.claimDue(10)).map(({ eventId }) => eventId)).toEqual(['other'])
    expect(await open.record('lost')).toMatchObject({ state: 'processing', lost: 1, starts: 1 })
    expect(await open.record('lost')).not.toHaveProperty('claim')
    expect(await claims.claimSuspects(null, 10)).toMatchObject({ claims: [{ eventId: 'lost', lost: 1 }] })
  })
})

describe('while a majority confirms no write', () => {
  it('nothing is taken over or marked as dead, and after a failure nothing is claimed', async () => {
    await using open = await openFreshQueue(process.env)
    const ended = { state: 'processing', claim: 'of a dead process', dueAt: new Date(0) } as const
    const records = [
      sampleTask({ ...ended, lost: 1 }),
      sampleTask({ ...ended, lost: 7 }),
      sampleTask({ state: 'pending', dueAt: new Date(0) }),
    ]
    await open.events.insertMany(records)
    const steadiness = new Steadiness(
      0,
      () => 0,
      () => Promise.reject(new Error('no majority')),
    )
    const claims = open.claims({ steadiness })
    await expect(claims.claimSuspects(null, 10)).rejects.toThrow('no majority')
    await expect(claims.claimDue(10)).rejects.toThrow('no majority')
    expect(await open.events.find().toArray()).toEqual(records)
  })
})
