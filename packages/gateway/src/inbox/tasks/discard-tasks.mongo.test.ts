import { startProfile } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { openInbox } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { discardTasks } from './discard-tasks.ts'

const retention = { retentionMs: 7_200_000, bodyRetentionMs: 3_600_000 }
const takerOf = () => undefined

const task = (handler: string, members: Partial<EventDocument> = {}): EventDocument =>
  sampleRecord({ handler, state: 'pending', ...members })

describe('discardTasks', () => {
  it('settles the pending and dead tasks of a handler in slices, and those whose claims have ended, and nothing else', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database, { handlers: { takerOf } })
    const { db, events } = open
    const dead = { state: 'dead', reason: 'retries_exhausted' } as const
    const held = task('removed', { state: 'processing', claim: 'living', dueAt: new Date(Date.now() + 3_600_000) })
    const lost = task('removed', { state: 'processing', claim: 'of a dead process', dueAt: new Date(0), lost: 1 })
    const others = [task('kept'), task('kept', dead), sampleRecord({ state: 'pending' }), held]
    await events.insertMany([
      ...others,
      ...Array.from({ length: 1_001 }, () => task('removed')),
      task('removed', dead),
      lost,
    ])
    expect(await discardTasks({ db, retention }, 'removed')).toEqual({ discarded: 1_003, more: false, held: 1 })
    const settled = { handler: 'removed', state: 'unhandled', reason: 'handler_removed' } as const
    expect(await events.countDocuments(settled)).toBe(1_003)
    const record = await events.findOne(settled)
    expect(record).toMatchObject({ settledAt: expect.any(Date), expireAt: expect.any(Date) })
    expect(record).not.toHaveProperty('dueAt')
    expect(await events.find({ reason: { $ne: 'handler_removed' } }).toArray()).toEqual(others)
    expect(await discardTasks({ db, retention }, 'removed')).toEqual({ discarded: 0, more: false, held: 1 })
  })

  it('ends after some seconds, and says that there is more', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database, { handlers: { takerOf } })
    const { db, events } = open
    await events.insertMany(Array.from({ length: 600 }, () => task('removed')))
    let now = 0
    const monotonicMs = (): number => {
      now += 5_000
      return now
    }
    const first = await discardTasks({ db, retention, monotonicMs }, 'removed')
    expect(first).toMatchObject({ discarded: 500, more: true })
    expect(await discardTasks({ db, retention }, 'removed')).toMatchObject({ discarded: 100, more: false })
  })

  it.each(['pending', 'dead'] as const)('reads no %s record of other handlers or of fulfilment', async (state) => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database, { handlers: { takerOf } })
    const { db, events } = open
    const others = Array.from({ length: 600 }, (_, index) => {
      return index % 2 === 0 ? task('kept', { state }) : sampleRecord({ state })
    })
    await events.insertMany([...others, ...[1, 2, 3].map(() => task('removed', { state }))])
    await using profile = await startProfile(database.db)
    expect(await discardTasks({ db, retention }, 'removed')).toMatchObject({ discarded: 3, more: false })
    const examined = await profile.examined(EVENTS)
    expect(examined.length).toBeGreaterThan(0)
    for (const { plan, keys, documents } of examined) expect(Math.max(keys, documents), plan).toBeLessThan(10)
  })

  it('finds nothing where there were never handlers', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    await open.events.insertOne(sampleRecord({ state: 'pending' }))
    expect(await discardTasks({ db: open.db, retention }, 'removed')).toMatchObject({ discarded: 0, held: 0 })
  })
})
