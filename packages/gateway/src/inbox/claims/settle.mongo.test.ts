import { describe, expect, it } from 'vitest'
import {
  applied,
  changeRecord,
  claimOne,
  done,
  failed,
  fromNow,
  openFreshInbox,
  storeClaimed,
  storePending,
  takeOverOne,
} from '../../testing/open-fresh-inbox.ts'
import { sampleArrival } from '../../testing/open-inbox.ts'
import type { Settlement } from './claim.ts'

const HOUR_MS = 3_600_000

describe('settle', () => {
  it('settles permanently: outcome, time, the end of retention, and no claim any more', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ retentionMs: HOUR_MS })
    await claims.settle([{ claim: await claimOne(claims), settlement: done, attempt: applied }])
    const record = await open.record('a')
    expect(record).toMatchObject({ state: 'done', reason: null, outcome: { kind: 'applied', version: 2 }, lost: 0 })
    expect(record.attempts).toEqual([{ at: record.settledAt, ...applied }])
    expect(record.expireAt?.getTime()).toBe((record.settledAt?.getTime() ?? 0) + HOUR_MS)
    expect(record.raw.toString()).toBe('the body of a')
    for (const member of ['leaseOwner', 'claimedAt', 'claim', 'dueAt']) {
      expect(record).not.toHaveProperty(member)
    }
  })

  it('marks as dead with a reason and never lets it expire', async () => {
    await using open = await openFreshInbox(process.env)
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

  it('defers, counts the failures and remembers since when', async () => {
    await using open = await openFreshInbox(process.env)
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
    await using open = await openFreshInbox(process.env)
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

  it('treats texts that begin with a dollar sign only as texts', async () => {
    await using open = await openFreshInbox(process.env)
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

  it('writes the outcomes of many claims with one command, and finds the lost ones', async () => {
    await using open = await openFreshInbox(process.env)
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
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims()
    const settlement = { state: 'pending', delayMs: 0 } as const
    const unknown = { ...failed, code: 'order_unknown' }
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: failed }])
    await changeRecord(open, 'a', { $set: { firstFailedAt: fromNow(-2 * HOUR_MS) } })
    const first = await claimOne(claims)
    expect(first).toMatchObject({ orderUnknownForMs: 0 })
    expect(first.failedForMs).toBeGreaterThanOrEqual(2 * HOUR_MS)
    await claims.settle([{ claim: first, settlement, attempt: unknown }])
    await changeRecord(open, 'a', { $set: { orderUnknownSince: fromNow(-HOUR_MS / 2) } })
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt: unknown }])
    const later = await claimOne(claims)
    expect(later.orderUnknownForMs).toBeGreaterThanOrEqual(HOUR_MS / 2)
    expect(later.orderUnknownForMs).toBeLessThan(HOUR_MS)
    // After a replay, earlier failures no longer count.
    await claims.release([later])
    await changeRecord(open, 'a', { $unset: 'firstFailedAt' })
    const replayed = await claimOne(claims)
    expect(replayed).toMatchObject({ orderUnknownForMs: 0, failedForMs: 0 })
    await claims.settle([{ claim: replayed, settlement, attempt: unknown }])
    expect((await claimOne(claims)).orderUnknownForMs).toBeLessThan(60_000)
  })
})

describe('release', () => {
  it('releases a claim: due at once, with nothing counted against it, however often', async () => {
    await using open = await openFreshInbox(process.env)
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
    for (const member of ['leaseOwner', 'claimedAt', 'begun']) expect(record).not.toHaveProperty(member)
  })

  it('does not count it either: an event that may kill its holder stays under suspicion', async () => {
    await using open = await openFreshInbox(process.env)
    await open.inbox.record(sampleArrival('a'))
    const claims = open.claims()
    const suspect = await takeOverOne(open, claims, 'a')
    await claims.release([suspect])
    expect((await claimOne(claims)).lost).toBe(1)
  })
})

describe('the fence', () => {
  it('keeps a stale claim from settling, beginning and releasing', async () => {
    await using open = await openFreshInbox(process.env)
    const old = await storeClaimed(open, 'a')
    const stale = open.claims()
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
    await stale.begin([old], 'alone')
    await stale.release([old])
    expect(await open.record('a')).toEqual(held)
    expect(await fresh.settle([{ claim: current, settlement: done, attempt: applied }])).toHaveLength(0)
    const settled = await open.record('a')
    expect(
      await stale.settle([{ claim: old, settlement: { state: 'dead', reason: 'x' }, attempt: failed }]),
    ).toHaveLength(1)
    expect(await open.record('a')).toEqual(settled)
  })

  it('distinguishes two claims of the same process', async () => {
    await using open = await openFreshInbox(process.env)
    const old = await storeClaimed(open, 'a')
    const claims = open.claims()
    const current = await takeOverOne(open, claims, 'a')
    expect(await claims.settle([{ claim: old, settlement: done, attempt: applied }])).toHaveLength(1)
    expect(await claims.settle([{ claim: current, settlement: done, attempt: applied }])).toHaveLength(0)
  })

  it('keeps two owners apart who hold the same fence, as after a rollback', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claim = await claimOne(open.claims({ owner: 'one' }))
    expect(await open.claims({ owner: 'two' }).settle([{ claim, settlement: done, attempt: applied }])).toHaveLength(1)
  })

  it('lets a claim settle once', async () => {
    await using open = await openFreshInbox(process.env)
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
