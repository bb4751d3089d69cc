import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { openInbox, sampleArrival } from '../../testing/open-inbox.ts'
import { stripOldBodies } from './strip-old-bodies.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const database = stack.use(await testDatabase(process.env))
const open = stack.use(await openInbox(database))

const RETENTION = { retentionMs: 3_600_000, bodyRetentionMs: 3_600_000 }
const going = new AbortController().signal
const unhandled = (id: string) => ({ event: { ...sampleArrival(id).event, type: 'customer.created' } })

describe('stripOldBodies', () => {
  it('works through any number in slices, and stops on request', async () => {
    const ids = Array.from({ length: 1_100 }, (_, index) => `many-${index}`)
    await Promise.all(ids.map((id) => open.inbox.record(sampleArrival(id, { signsTime: false, ...unhandled(id) }))))
    const many = { eventId: /^many-/ }
    await open.events.updateMany(many, { $set: { stripAt: new Date(0), settledAt: new Date(0) } })
    await stripOldBodies(open.db, RETENTION, AbortSignal.abort())
    expect(await open.events.countDocuments({ ...many, stripAt: { $exists: true } })).toBe(1_100)
    open.commands.length = 0
    await stripOldBodies(open.db, RETENTION, going)
    expect(await open.events.countDocuments({ ...many, stripAt: { $exists: true } })).toBe(0)
    expect(open.commands.filter(({ commandName }) => commandName === 'update')).toHaveLength(3)
    open.commands.length = 0
    await stripOldBodies(open.db, RETENTION, going)
    expect(open.commands.map(({ commandName }) => commandName)).toEqual(['find'])
  })
})
