import type { Document } from 'mongodb'
import { describe, expect, it } from 'vitest'
import {
  changeRecord,
  claimOne,
  type FreshInbox,
  failed,
  fromNow,
  idsOf,
  openFreshInbox,
  storePending,
} from '../../testing/open-fresh-inbox.ts'
import type { AttemptResult } from './claim.ts'
import type { Claims } from './claims.ts'

const HOUR_MS = 3_600_000

describe('the time for which an event fails', () => {
  const unknown: AttemptResult = { ...failed, code: 'order_unknown' }
  const maxDelayMs = 600_000
  // Between two attempts no more than this counts: the longest wait and a minute.
  const MAX_GAP_MS = 660_000

  /** Lets an attempt fail, and moves all times that it has set. */
  async function failOnce(
    open: FreshInbox,
    claims: Claims,
    { movedMs = 0, attempt = unknown, delayMs = 0 },
  ): Promise<void> {
    const settlement = { state: 'pending', delayMs } as const
    await claims.settle([{ claim: await claimOne(claims), settlement, attempt }])
    const times = ['firstFailedAt', 'orderUnknownSince', 'lastError.at', 'dueAt']
    const record: Document = await open.record('a')
    const moved = times.filter((name) => name.includes('.') || record[name] !== undefined)
    await changeRecord(open, 'a', {
      $set: Object.fromEntries(moved.map((name) => [name, { $add: [`$${name}`, movedMs] }])),
    })
  }

  it('counts no hour that a clock was set forward by', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    await failOnce(open, claims, { movedMs: -HOUR_MS, delayMs: HOUR_MS })
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

  it('continues from the right time after a clock was set back', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    await failOnce(open, claims, { movedMs: 24 * HOUR_MS })
    const second = await claimOne(claims)
    expect(second).toMatchObject({ failedForMs: 0, orderUnknownForMs: 0 })
    await claims.release([second])
    await failOnce(open, claims, { movedMs: -HOUR_MS / 10, delayMs: HOUR_MS / 10 })
    const third = await claimOne(claims)
    for (const ms of [third.failedForMs, third.orderUnknownForMs]) {
      expect(ms).toBeGreaterThanOrEqual(HOUR_MS / 10)
      expect(ms).toBeLessThan(HOUR_MS / 10 + 60_000)
    }
  })

  it('counts only the planned delay if nobody could send a due record, as in a pause of its handler', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs, activeForMs: () => 1_000 })
    await failOnce(open, claims, { movedMs: -HOUR_MS, delayMs: 30_000 })
    const second = await claimOne(claims)
    for (const ms of [second.failedForMs, second.orderUnknownForMs]) expectAbout(ms, 30_000)
    // Fulfilment is still unavailable: the rest of the batch is released, and claimed again.
    await claims.release([second])
    await changeRecord(open, 'a', { $set: { dueAt: fromNow(-20_000), resumedAt: { $add: ['$resumedAt', -20_000] } } })
    const third = await claimOne(claims)
    expectAbout(third.failedForMs, 30_000)
    await claims.settle([{ claim: third, settlement: { state: 'pending', delayMs: 0 }, attempt: unknown }])
    expectAbout((await claimOne(claims)).failedForMs, 30_000)
  })

  it('leaves out the time for which all gateways were unavailable, also of a record that one of them held', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    await failOnce(open, claims, { movedMs: -HOUR_MS, delayMs: HOUR_MS })
    await claimOne(claims)
    // It was claimed 30 s after its failure, and then all gateways died.
    const past = { claimedAt: fromNow(-HOUR_MS - 30_000), 'lastError.at': fromNow(-HOUR_MS - 60_000) }
    await changeRecord(open, 'a', { $set: { ...past, firstFailedAt: fromNow(-HOUR_MS - 60_000) } })
    const { taken } = await open.claims({ owner: 'next', maxDelayMs, activeForMs: () => 1_000 }).takeOver(1)
    expectAbout(taken[0]!.failedForMs, 30_000)
  })

  it('counts the time for which a gateway only had too much to do', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs, activeForMs: () => 10 * HOUR_MS })
    for (const attempts of [1, 2, 3]) {
      await failOnce(open, claims, { movedMs: -HOUR_MS / 10 })
      const claim = await claimOne(claims)
      expect(claim.failedForMs).toBeGreaterThanOrEqual((attempts * HOUR_MS) / 10)
      await claims.release([claim])
    }
  })

  it('does not wait for a time that a clock has set which was ahead', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    await failOnce(open, claims, { movedMs: -30_000, delayMs: 30_000 })
    await changeRecord(open, 'a', { $set: { resumedAt: fromNow(365 * 24 * HOUR_MS) } })
    expectAbout((await claimOne(claims)).failedForMs, 30_000)
  })

  it('counts all attempts that follow each other in time', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a'])
    const claims = open.claims({ maxDelayMs })
    for (let tries = 0; tries < 5; tries += 1)
      await failOnce(open, claims, { movedMs: -maxDelayMs, delayMs: maxDelayMs })
    const { failedForMs, orderUnknownForMs } = await claimOne(claims)
    expect(failedForMs).toBeGreaterThanOrEqual(5 * maxDelayMs)
    expect(orderUnknownForMs).toBeGreaterThanOrEqual(5 * maxDelayMs)
  })
})

function expectAbout(ms: number, expected: number): void {
  expect(ms).toBeGreaterThanOrEqual(expected)
  expect(ms).toBeLessThan(expected + 15_000)
}

describe('after the clock of the database was ahead', () => {
  it('takes a record that is deferred until a time that is never set', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['lost in time', 'later'])
    await changeRecord(open, 'lost in time', { $set: { dueAt: fromNow(HOUR_MS) } })
    await changeRecord(open, 'later', { $set: { dueAt: fromNow(500_000) } })
    expect(idsOf(await open.claims({ maxDelayMs: 500_000 }).claimDue(10))).toEqual(['lost in time'])
  })
})
