import { armFailPoint } from '@oncehook/kernel/testing/fail-point'
import { describe, expect, it } from 'vitest'
import {
  applied,
  changeRecord,
  done,
  type FreshInbox,
  openFreshInbox,
  storeClaimed,
  storePending,
} from '../../../testing/open-fresh-inbox.ts'
import { openInbox, sampleArrival } from '../../../testing/open-inbox.ts'
import type { Claim } from '../claim.ts'
import type { Claims } from '../claims.ts'
import type { ClaimsDeps } from '../claims-deps.ts'
import { STRAY_AFTER_MS } from './stray-records.ts'

const LEASE_MS = 30_000
const TIMED_OUT = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }

/** Claims on a clock that the test moves. */
function clockedClaims(
  open: FreshInbox,
  deps: Partial<ClaimsDeps> = {},
): { readonly claims: Claims; pass(ms: number): void } {
  let now = 0
  const claims = open.claims({ ...deps, monotonicMs: () => now })
  return {
    claims,
    pass(ms) {
      now += ms
    },
  }
}

/** Two searches for stray records, far enough apart. Resolves to the number of those that were released. */
async function searchTwice(
  { claims, pass }: ReturnType<typeof clockedClaims>,
  held: readonly Claim[] = [],
): Promise<number> {
  expect(await claims.releaseStrays(() => held)).toBe(0)
  pass(STRAY_AFTER_MS)
  return claims.releaseStrays(() => held)
}

describe('a record whose holder lives and does not know about it', () => {
  it('is released by its holder if the answer to its insert was lost, and that is no loss', async () => {
    await using open = await openFreshInbox(process.env)
    const clocked = clockedClaims(open, { owner: 'me' })
    await clocked.claims.beat()
    const dispatcher = {
      ...{ admits: () => true, take: () => expect.unreachable() },
      ...{ doubt: () => clocked.claims.doubt(), expect: () => undefined },
    }
    await using unlucky = await openInbox(open.database, { owner: 'me', dispatcher })
    {
      const { appName } = unlucky
      await using _ = await armFailPoint(open.database.uri, { commands: ['insert'], appName, how: TIMED_OUT })
      expect(await unlucky.inbox.record(sampleArrival('a'))).toBe('not_stored')
    }
    expect(await open.record('a')).toMatchObject({ state: 'processing', leaseOwner: 'me' })
    expect((await open.claims({ owner: 'other' }).takeOver(10)).taken).toEqual([])
    expect(await searchTwice(clocked)).toBe(1)
    expect(await open.record('a')).toMatchObject({ state: 'pending', fence: 2, lost: 0 })
    expect(await open.claims({ owner: 'other' }).claimDue(10)).toMatchObject([
      { fence: 3, lost: 0, event: { id: 'a' } },
    ])
  })

  it('is released by its holder if the answer to a claim was lost', async () => {
    await using open = await openFreshInbox(process.env)
    await storePending(open, ['a', 'b'])
    const clocked = clockedClaims(open)
    await clocked.claims.beat()
    {
      const { appName } = open
      await using _ = await armFailPoint(open.database.uri, { commands: ['update'], appName, how: TIMED_OUT })
      await expect(clocked.claims.claimDue(10)).rejects.toThrow()
    }
    expect(await open.events.countDocuments({ state: 'processing', lost: 0 })).toBe(2)
    expect((await open.claims({ owner: 'other' }).takeOver(10)).taken).toEqual([])
    expect(await searchTwice(clocked)).toBe(2)
    expect(await clocked.claims.claimDue(10)).toMatchObject([{ lost: 0 }, { lost: 0 }])
  })

  it('is released by its holder if its result or its release could not be written', async () => {
    await using open = await openFreshInbox(process.env)
    const claim = await storeClaimed(open, 'a')
    const clocked = clockedClaims(open)
    {
      const how = { closeConnection: true }
      await using _ = await armFailPoint(open.database.uri, { commands: ['update'], appName: open.appName, how })
      await expect(clocked.claims.release([claim])).rejects.toThrow()
    }
    expect(await searchTwice(clocked)).toBe(1)
    expect(await open.record('a')).toMatchObject({ state: 'pending', fence: 2, lost: 0 })
  })

  it('is found once in a lease even if nothing was in doubt', async () => {
    await using open = await openFreshInbox(process.env)
    await storeClaimed(open, 'a')
    const clocked = clockedClaims(open)
    clocked.pass(LEASE_MS)
    expect(await searchTwice(clocked)).toBe(1)
  })
})

describe('the search for such records', () => {
  it('asks nothing before a lease has passed, unless something is in doubt', async () => {
    await using open = await openFreshInbox(process.env)
    const clocked = clockedClaims(open)
    const sent = open.commands.length
    await clocked.claims.releaseStrays(() => [])
    expect(open.commands).toHaveLength(sent)
    clocked.claims.doubt()
    await clocked.claims.releaseStrays(() => [])
    expect(open.commands).toHaveLength(sent + 1)
    await clocked.claims.releaseStrays(() => [])
    clocked.pass(LEASE_MS - 1)
    await clocked.claims.releaseStrays(() => [])
    expect(open.commands).toHaveLength(sent + 1)
  })

  it('leaves alone what the process holds, also what it took while the database answered', async () => {
    await using open = await openFreshInbox(process.env)
    const claim = await storeClaimed(open, 'a')
    const clocked = clockedClaims(open)
    clocked.claims.doubt()
    expect(await searchTwice(clocked, [claim])).toBe(0)
    clocked.claims.doubt()
    const held: Claim[] = []
    const search = clocked.claims.releaseStrays(() => held)
    held.push(claim)
    await search
    clocked.pass(STRAY_AFTER_MS)
    expect(await clocked.claims.releaseStrays(() => held)).toBe(0)
    expect(await open.record('a')).toMatchObject({ fence: 1 })
  })

  it('leaves alone what is being inserted, and what was claimed again in the meantime', async () => {
    await using open = await openFreshInbox(process.env)
    await storeClaimed(open, 'a')
    const clocked = clockedClaims(open)
    clocked.claims.doubt()
    expect(await clocked.claims.releaseStrays(() => [])).toBe(0)
    clocked.pass(STRAY_AFTER_MS - 1)
    clocked.claims.doubt()
    expect(await clocked.claims.releaseStrays(() => [])).toBe(0)
    await changeRecord(open, 'a', { $set: { fence: 3 } })
    clocked.pass(1)
    clocked.claims.doubt()
    expect(await clocked.claims.releaseStrays(() => [])).toBe(0)
    expect(await open.record('a')).toMatchObject({ fence: 3 })
  })

  it('names the fence of each record', async () => {
    await using open = await openFreshInbox(process.env)
    for (const id of ['a', 'b', 'c']) await storeClaimed(open, id)
    await changeRecord(open, 'c', { $set: { fence: 7 } })
    const clocked = clockedClaims(open)
    clocked.claims.doubt()
    expect(await searchTwice(clocked)).toBe(3)
    expect(await open.events.countDocuments({ state: 'pending', fence: 2 })).toBe(2)
    expect(await open.record('c')).toMatchObject({ state: 'pending', fence: 8 })
  })

  it('drops what the process writes about a released record', async () => {
    await using open = await openFreshInbox(process.env)
    const claim = await storeClaimed(open, 'a')
    const clocked = clockedClaims(open)
    clocked.claims.doubt()
    expect(await searchTwice(clocked)).toBe(1)
    expect(await clocked.claims.settle([{ claim, settlement: done, attempt: applied }])).toHaveLength(1)
    expect(await open.record('a')).toMatchObject({ state: 'pending' })
  })

  it('tries again if it fails', async () => {
    await using open = await openFreshInbox(process.env)
    await storeClaimed(open, 'a')
    const clocked = clockedClaims(open)
    clocked.claims.doubt()
    await open.events.dropIndex('processing_by_owner')
    await expect(clocked.claims.releaseStrays(() => [])).rejects.toThrow()
    const sent = open.commands.length
    await expect(clocked.claims.releaseStrays(() => [])).rejects.toThrow()
    expect(open.commands.length).toBeGreaterThan(sent)
  })
})
