import { startProfile } from '@oncehook/kernel/testing/profile'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { openInbox } from '../../testing/open-inbox.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import type { EventDocument } from '../event-document.ts'
import { readHandlerDepths } from './handler-depth.ts'

type Members = Partial<EventDocument>

const many = (count: number, members: Members) => Array.from({ length: count }, () => sampleRecord(members))

describe('readHandlerDepths', () => {
  it('counts the tasks of all handlers without reading a record, with one search for each state', async () => {
    await using database = await testDatabase(process.env)
    await using open = await openInbox(database)
    const oldest = ObjectId.createFromTime(1_764_151_200)
    await open.events.insertMany([
      ...many(2, { handler: 'a', state: 'pending' }),
      ...many(1, { handler: 'a', state: 'pending', _id: oldest }),
      ...many(2, { handler: 'a', state: 'dead' }),
      ...many(1, { handler: 'b', state: 'dead' }),
      ...many(4, { state: 'pending' }),
      ...many(5, { state: 'dead' }),
      ...many(50, { handler: 'a', state: 'done' }),
    ])
    await using profile = await startProfile(database.db)
    const depths = await readHandlerDepths(open.db)
    const examined = await profile.examined(EVENTS)
    expect(depths.of('a')).toEqual({ pending: 3, dead: 2, oldestStoredAt: oldest.getTimestamp() })
    expect(depths.of('b')).toEqual({ pending: 0, dead: 1, oldestStoredAt: null })
    expect(depths.of('of no task')).toEqual({ pending: 0, dead: 0, oldestStoredAt: null })
    expect(depths.of('fulfilment')).toMatchObject({ pending: 4, dead: 5, oldestStoredAt: expect.any(Date) })
    expect(new Set(depths.names)).toEqual(new Set(['a', 'b', 'fulfilment']))
    expect(examined).toHaveLength(2)
    for (const { keys, documents } of examined) {
      expect(documents).toBe(0)
      expect(keys).toBeLessThanOrEqual(9)
    }
  })
})
