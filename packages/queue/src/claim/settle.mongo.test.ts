import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { describe, expect, it } from 'vitest'
import { releaseTask } from '../changes.ts'
import {
  again,
  applied,
  claimOne,
  done,
  failed,
  fromNow,
  openFreshQueue,
  storeClaimed,
  storePending,
  takeOverOne,
} from '../testing/open-queue.ts'
import type { Settlement } from '../transitions.ts'

const HOUR_MS = 3_600_000

describe('settle', () => {
  it('settles permanently: outcome, time, the end of retention, and no claim any more', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ end: { ended: { expireAt: fromNow(HOUR_MS) }, dead: {} } })
    await claims.settle([{ claim: await claimOne(claims), settlement: done, attempt: applied }])
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'done', reason: null, lost: 0 })
    expect(record.attempts).toEqual([{ at: record.settledAt, ...applied, version: 2 }])
    const expireAt = new Date((record.settledAt?.getTime() ?? 0) + HOUR_MS)
    expect(record).toMatchObject({ expireAt, raw: 'the body of a' })
    for (const member of ['claim', 'dueAt', 'failing']) expect(record).not.toHaveProperty(member)
  })

  it('marks as dead with a reason and never lets it expire', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const claims = open.claims()
    const attempt = { ms: 1, outcome: 'dead', code: 'amount_mismatch', message: 'The amount is another' }
    const settlement = { state: 'dead', reason: 'amount_mismatch' } as const
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt }])
    const record = await open.record('a')
    expect(record).toMatchObject({
      ...{
        state: 'dead',
        reason: 'amount_mismatch',
        failing: { times: 1 },
        attempts: [{ ...attempt, at: record.settledAt }],
      },
    })
    expect(record).not.toHaveProperty('expireAt')
  })

  it('defers, counts the failures, and keeps the waits that were set', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const claims = open.claims()
    const waitedFor = { code: 'unavailable', ms: 300 }
    const settlement = { state: 'pending', delayMs: 0, waited: 700, waitedFor } as const
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: failed }])
    const first = await open.record('a')
    expect(first).toMatchObject({
      state: 'pending',
      failing: { times: 1, waitedMs: 700, code: 'unavailable', codeMs: 300 },
      attempts: [{ code: 'unavailable' }],
    })
    expect(first.dueAt).toEqual(first.attempts[0]?.at)
    expect(first).not.toHaveProperty('claim')
    const second = await claimOne(claims)
    expect(second).toMatchObject({ starts: 2, failures: 1, waited: 700, waitedFor })
    await claims.settle([{ claim: second, settlement: again(60_000), attempt: { ...failed, code: 'internal' } }])
    const record = await open.record('a')
    expect(record).toMatchObject({ starts: 2, failing: { times: 2, waitedMs: 60_000 } })
    expect(record.dueAt?.getTime()).toBe((record.attempts[1]?.at.getTime() ?? 0) + 60_000)
    expect(record.attempts.map(({ code }) => code)).toEqual(['unavailable', 'internal'])
  })

  it('treats texts that begin with a dollar sign only as texts', async () => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a', 'b', 'c'])
    const claims = open.claims()
    const texts = { ms: 1, outcome: '$eventId', code: '$$NOW', message: '$raw' }
    const [a, b, c] = await claims.claimDue(3)
    if (!a || !b || !c) throw new Error('Three were due')
    await claims.settle([
      { claim: a, settlement: { state: 'dead', reason: '$$ROOT' }, attempt: texts },
      { claim: b, settlement: { state: 'done', outcome: { kind: '$type', version: 1 } }, attempt: texts },
      { claim: c, settlement: again(), attempt: texts },
    ])
    expect(await open.record('a')).toMatchObject({ reason: '$$ROOT', attempts: [texts] })
    expect(await open.record('b')).toMatchObject({ attempts: [{ ...texts, version: 1 }] })
    expect(await open.record('c')).toMatchObject({ state: 'pending', attempts: [texts] })
  })

  it('writes the outcomes of many claims with one command, and finds the lost ones', async () => {
    await using open = await openFreshQueue(process.env)
    const ids = Array.from({ length: 60 }, (_, index) => `e${index}`)
    await storePending(open, ids)
    const claims = open.claims()
    const held = await claims.claimDue(60)
    await open.events.updateMany(
      { eventId: { $in: ['e3', 'e4'] } },
      { $set: { claim: 'of another process', starts: 2 } },
    )
    const settlements: Settlement[] = [done, { state: 'dead', reason: 'x' }, again(HOUR_MS)]
    const settled = held.map((claim, index) => ({
      ...{ claim, attempt: index % 3 === 0 ? applied : failed },
      settlement: settlements[index % 3] ?? done,
    }))
    open.commands.length = 0
    expect(await claims.settle(settled)).toHaveLength(2)
    expect(open.commands.map(({ commandName }) => commandName)).toEqual(['update', 'find'])
    for (const { claim, settlement } of settled) {
      const stale = ['e3', 'e4'].includes(claim.eventId)
      expect((await open.record(claim.eventId)).state).toBe(stale ? 'processing' : settlement.state)
    }
    expect(await claims.settle([])).toHaveLength(0)
  })
})

describe('settle after its answer was lost', () => {
  it.each([
    ['done', done],
    ['unhandled', { state: 'unhandled', reason: 'test' } as const],
    ['dead', { state: 'dead', reason: 'x' } as const],
    ['tried again', again(HOUR_MS)],
    ['a suspect', { ...again(HOUR_MS), broke: new Date() }],
  ])('is repeated without a second attempt, and loses nothing: %s', async (_, settlement) => {
    await using open = await openFreshQueue(process.env)
    await storePending(open, ['a'])
    const claims = open.claims()
    const settled = [{ claim: await claimOne(claims), settlement, attempt: failed }]
    {
      const how = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }
      await using _ = await armFailPoint(open.database.uri, { commands: ['update'], appName: open.appName, how })
      await expect(claims.settle(settled)).rejects.toThrow()
    }
    const record = await open.record('a')
    expect(await claims.settle(settled)).toEqual([])
    expect(await open.record('a')).toEqual(record)
    expect(record.attempts).toHaveLength(1)
  })
})

describe('release', () => {
  it('makes a claim due at once, with nothing counted against it, however often', async () => {
    await using open = await openFreshQueue(process.env)
    const claimed = await storeClaimed(open, 'a')
    const claims = open.claims({ maxCrashes: 3 })
    await claims.release([claimed])
    for (let times = 0; times < 6; times += 1) {
      const claim = await claimOne(claims)
      expect(claim).toMatchObject({ starts: times + 2, lost: 0, failures: 0, waited: 0 })
      await claims.release([claim])
    }
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'pending', lost: 0, attempts: [] })
    expect(record).not.toHaveProperty('claim')
  })
})

describe('the name of a claim', () => {
  it('keeps a stale claim from settling and releasing', async () => {
    await using open = await openFreshQueue(process.env)
    const old = await storeClaimed(open, 'a')
    const [stale, fresh] = [open.claims(), open.claims()]
    const current = await takeOverOne(open, fresh, 'a')
    const held = await open.record('a')
    const outcomes: Settlement[] = [done, again(), { state: 'dead', reason: 'x' }]
    for (const settlement of outcomes) {
      expect(await stale.settle([{ claim: old, settlement, attempt: failed }])).toHaveLength(1)
    }
    await stale.release([old])
    expect(await open.record('a')).toEqual(held)
    expect(await fresh.settle([{ claim: current, settlement: done, attempt: applied }])).toHaveLength(0)
    const settled = await open.record('a')
    expect(
      await stale.settle([{ claim: old, settlement: { state: 'dead', reason: 'x' }, attempt: failed }]),
    ).toHaveLength(1)
    expect(await open.record('a')).toEqual(settled)
  })

  it('drops the outcome of a record that an operator has released, and says so', async () => {
    await using open = await openFreshQueue(process.env)
    const claim = await storeClaimed(open, 'a')
    expect(await releaseTask(open.db, claim._id)).toBe(true)
    const settled = [{ claim, settlement: done, attempt: applied }]
    expect(await open.claims().settle(settled)).toEqual(settled)
    expect(await open.record('a')).toMatchObject({ state: 'pending', attempts: [] })
    expect(await releaseTask(open.db, claim._id)).toBe(false)
  })
})
