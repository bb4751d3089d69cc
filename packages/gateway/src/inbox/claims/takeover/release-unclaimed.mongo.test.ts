import { type TestDatabase, testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { changeRecord, claimOne, steadyClaims } from '../../../testing/open-fresh-inbox.ts'
import { type OpenInbox, openInbox, sampleArrival } from '../../../testing/open-inbox.ts'
import type { Claims } from '../claims.ts'

const MOST_DEATHS = 3
const event = { id: 'e1', type: 'invoice.paid', objectId: 'in_1', facts: { orderId: '' } }

/** An inbox with one due task, of the handler `a`. */
async function openTask(database: TestDatabase): Promise<OpenInbox> {
  const open = await openInbox(database, { handlers: { takerOf: () => undefined } })
  await open.inbox.record(sampleArrival('e1', { event, wantedBy: ['a'] }))
  return open
}

/** Claims of a gateway with the handler `a`, and of one that does not know it. Both have reached the database. */
async function bothClaims(open: OpenInbox): Promise<readonly [knowing: Claims, unaware: Claims]> {
  return [
    await steadyClaims(open, { maxCrashes: MOST_DEATHS, handler: 'a', owner: 'knowing' }),
    await steadyClaims(open, { maxCrashes: MOST_DEATHS, configured: () => [], owner: 'unaware' }),
  ]
}

async function die(open: OpenInbox, claims: Claims, attempt: 'begun' | 'only held'): Promise<void> {
  const claim = await claimOne(claims)
  if (attempt === 'begun') await claims.begin([claim], 'alone')
  await changeRecord(open, 'e1', { $set: { leaseOwner: 'a dead process' } })
}

describe('a task of a dead process, taken by a gateway that does not know its handler', () => {
  it('is dead after as many deaths as elsewhere: each of them counts', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTask(database)
    const [knowing, unaware] = await bothClaims(open)
    for (const lost of [1, 2]) {
      await die(open, knowing, 'begun')
      expect(await unaware.takeOver(10)).toMatchObject({ taken: [], poisoned: 0 })
      const released = await open.record('e1')
      expect(released).toMatchObject({ state: 'pending', lost, losses: { length: lost } })
      expect(released.losses?.at(-1)).toMatchObject({ owner: 'a dead process', at: expect.any(Date) })
      for (const member of ['begun', 'leaseOwner']) expect(released).not.toHaveProperty(member)
    }
    await die(open, knowing, 'begun')
    expect(await unaware.takeOver(10)).toMatchObject({ taken: [], poisoned: 1 })
    expect(await open.record('e1')).toMatchObject({ state: 'dead', reason: 'worker_died', starts: 3, lost: 2 })
  })

  it('is no more suspect than elsewhere if it only waited in the memory of its processes', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTask(database)
    const [knowing, unaware] = await bothClaims(open)
    for (let deaths = 0; deaths <= MOST_DEATHS; deaths += 1) {
      await die(open, knowing, 'only held')
      expect(await unaware.takeOver(10)).toMatchObject({ taken: [], poisoned: 0 })
    }
    expect(await open.record('e1')).toMatchObject({ state: 'pending', lost: 1, losses: { length: 1 } })
  })

  it('is not dead before the gateway that decides has reached the database for a lease', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openTask(database)
    const [knowing, unaware] = await bothClaims(open)
    await die(open, knowing, 'begun')
    await changeRecord(open, 'e1', { $set: { lost: MOST_DEATHS } })
    const fresh = open.claims({ maxCrashes: MOST_DEATHS, configured: () => [], owner: 'fresh' })
    expect(await fresh.takeOver(10)).toMatchObject({ taken: [], poisoned: 0 })
    expect(await open.record('e1')).toMatchObject({ state: 'processing', begun: true })
    expect(await unaware.takeOver(10)).toMatchObject({ poisoned: 1 })
  })
})
