import { startProfile } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { discardTasks } from './changes.ts'
import type { TaskDocument } from './task.ts'
import { EVENTS } from './task.ts'
import { openQueue } from './testing/open-queue.ts'
import { sampleTask } from './testing/sample-task.ts'

const end = { ended: { expireAt: '$$NOW' }, dead: {} }

const task = (handler: string, members: Partial<TaskDocument> = {}): TaskDocument =>
  sampleTask({ handler, state: 'pending', ...members })

describe('discardTasks', () => {
  it('settles the pending and dead tasks of a handler in slices, and those whose claims have ended, and nothing else', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    const { db, events } = open
    const dead = { state: 'dead', reason: 'retries_exhausted' } as const
    const held = task('removed', { state: 'processing', claim: 'living', dueAt: new Date(Date.now() + 3_600_000) })
    const lost = task('removed', { state: 'processing', claim: 'of a dead process', dueAt: new Date(0), lost: 1 })
    const others = [task('kept'), task('kept', dead), sampleTask({ state: 'pending' }), held]
    await events.insertMany([
      ...others,
      ...Array.from({ length: 1_001 }, () => task('removed')),
      task('removed', dead),
      lost,
    ])
    expect(await discardTasks(db, 'removed', end)).toEqual({ discarded: 1_003, more: false, held: 1 })
    const settled = { handler: 'removed', state: 'unhandled', reason: 'handler_removed' } as const
    expect(await events.countDocuments(settled)).toBe(1_003)
    const record = await events.findOne(settled)
    expect(record).toMatchObject({ settledAt: expect.any(Date), expireAt: expect.any(Date) })
    expect(record).not.toHaveProperty('dueAt')
    expect(await events.find({ reason: { $ne: 'handler_removed' } }).toArray()).toEqual(others)
    expect(await discardTasks(db, 'removed', end)).toEqual({ discarded: 0, more: false, held: 1 })
  })

  it('ends after some seconds, and says that there is more', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    const { db, events } = open
    await events.insertMany(Array.from({ length: 600 }, () => task('removed')))
    let now = 0
    const monotonicMs = (): number => {
      now += 5_000
      return now
    }
    const first = await discardTasks(db, 'removed', end, monotonicMs)
    expect(first).toMatchObject({ discarded: 500, more: true })
    expect(await discardTasks(db, 'removed', end)).toMatchObject({ discarded: 100, more: false })
  })

  it.each(['pending', 'dead'] as const)('reads no %s record of other handlers', async (state) => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    const { db, events } = open
    const others = Array.from({ length: 600 }, (_, index) => {
      return index % 2 === 0 ? task('kept', { state }) : sampleTask({ state })
    })
    await events.insertMany([...others, ...[1, 2, 3].map(() => task('removed', { state }))])
    await using profile = await startProfile(database.db)
    expect(await discardTasks(db, 'removed', end)).toMatchObject({ discarded: 3, more: false })
    const examined = await profile.examined(EVENTS)
    expect(examined.length).toBeGreaterThan(0)
    for (const { plan, keys, documents } of examined) {
      expect(documents, plan).toBeLessThan(10)
      // The dead tasks of all handlers are in one index.
      expect(keys, plan).toBeLessThan(state === 'dead' ? 605 : 10)
    }
  })

  it('finds nothing where there were never handlers', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openQueue(database)
    await open.events.insertOne(sampleTask({ state: 'pending' }))
    expect(await discardTasks(open.db, 'removed', end)).toMatchObject({ discarded: 0, held: 0 })
  })
})
