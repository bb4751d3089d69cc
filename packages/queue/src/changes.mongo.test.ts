import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { describe, expect, it } from 'vitest'
import { discardTasks } from './changes.ts'
import type { TaskDocument } from './task.ts'
import { openQueue } from './testing/open-queue.ts'
import { sampleTask } from './testing/sample-task.ts'

// However busy the machine is.
const atOnce = () => 0
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
    expect(await discardTasks(db, 'removed', end, atOnce)).toEqual({ discarded: 1_003, more: false, held: 1 })
    const settled = { handler: 'removed', state: 'unhandled', reason: 'handler_removed' } as const
    expect(await events.countDocuments(settled)).toBe(1_003)
    const record = await events.findOne(settled)
    expect(record).toMatchObject({ settledAt: expect.any(Date), expireAt: expect.any(Date) })
    expect(record).not.toHaveProperty('dueAt')
    expect(await events.find({ reason: { $ne: 'handler_removed' } }).toArray()).toEqual(others)
    expect(await discardTasks(db, 'removed', end, atOnce)).toEqual({ discarded: 0, more: false, held: 1 })
  })
})
