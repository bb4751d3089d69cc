import { startProfile } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { openInbox } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { FIRST_PAUSED_DUE_AT } from '../pauses/paused-due-at.ts'
import { createDueProbe, probedClaims } from './due-probe.ts'

const MINUTE_MS = 60_000
const fromNow = (ms: number) => new Date(Date.now() + ms)
const pending = (members: Partial<EventDocument>) => sampleRecord({ state: 'pending', ...members })

describe('the probe for due tasks', () => {
  it('looks once for all handlers, however many tasks wait', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const later = () => ({ dueAt: fromNow(5 * MINUTE_MS) })
    await open.events.insertMany([
      ...Array.from({ length: 200 }, () => pending({ handler: 'later', ...later() })),
      ...Array.from({ length: 200 }, () => pending({ handler: 'past', dueAt: fromNow(-1) })),
      ...[pending({ handler: 'new' }), pending({ handler: 'new', ...later() })],
      pending({ handler: 'of a paused provider', dueAt: FIRST_PAUSED_DUE_AT }),
      pending(later()),
    ])
    await using profile = await startProfile(database.db)
    const mayHaveDue = createDueProbe({ db: open.db, maxDelayMs: 15 * MINUTE_MS })
    const names = ['later', 'past', 'new', 'of a paused provider', 'without tasks', 'fulfilment']
    const said = await Promise.all(names.map(mayHaveDue))
    expect(said).toEqual([false, true, true, true, false, false])
    const [look, ...others] = await profile.examined(EVENTS)
    expect(others).toEqual([])
    expect(look?.keys).toBeLessThan(20)
  })

  it('knows when a task is due that was not yet due when it looked', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    await open.events.insertOne(pending({ handler: 'a', dueAt: fromNow(MINUTE_MS) }))
    let now = 0
    const mayHaveDue = createDueProbe({ db: open.db, maxDelayMs: 15 * MINUTE_MS, monotonicMs: () => now })
    expect(await mayHaveDue('a')).toBe(false)
    // On a busy machine the second may be over before the look.
    await expect
      .poll(async () => {
        await open.events.updateOne({}, { $set: { dueAt: fromNow(1_000) } })
        now += 2_000
        return mayHaveDue('a')
      })
      .toBe(false)
    now += 1_200
    expect(await mayHaveDue('a'), 'the same look').toBe(true)
  })
})

describe('probed claims', () => {
  it('search without asking while they are busy, and find what is due when they are idle', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    let now = 0
    const asked: string[] = []
    const mayHaveDue = createDueProbe({ db: open.db, maxDelayMs: 15 * MINUTE_MS, monotonicMs: () => now })
    const claims = probedClaims(open.claims({ handler: 'a' }), {
      ...{ handler: 'a', now: () => now },
      mayHaveDue(handler) {
        asked.push(handler)
        return mayHaveDue(handler)
      },
    })
    expect(await claims.claimDue(10)).toEqual([])
    expect(asked).toEqual([])
    now += 11_000
    expect(await claims.claimDue(10)).toEqual([])
    expect(asked).toEqual(['a'])
    await open.events.insertMany([pending({ handler: 'a' }), pending({ handler: 'b' })])
    now += 2_000
    expect(await claims.claimDue(10)).toHaveLength(1)
    expect(await claims.claimDue(10)).toEqual([])
    expect(asked).toHaveLength(2)
  })
})
