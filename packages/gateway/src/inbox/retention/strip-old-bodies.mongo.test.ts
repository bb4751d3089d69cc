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

describe('a record of a scheme that signs no time', () => {
  it('keeps its key forever: its body is removed, the record never', async () => {
    await open.inbox.record(sampleArrival('born-unhandled', { signsTime: false, ...unhandled('born-unhandled') }))
    await open.inbox.record(sampleArrival('settled', { signsTime: false }))
    const settlement = { state: 'done', outcome: { kind: 'applied', version: 2 } } as const
    const attempt = { ms: 1, outcome: 'applied', code: null, message: null }
    await open.claims().settle(open.claimedOnInsert.map((claim) => ({ claim, settlement, attempt })))
    for (const id of ['born-unhandled', 'settled']) {
      const record = await open.record(id)
      expect(record).not.toHaveProperty('expireAt')
      expect(record.stripAt?.getTime()).toBe((record.settledAt?.getTime() ?? 0) + 3_600_000)
    }
  })
})

describe('stripOldBodies', () => {
  it('empties what has been kept for long enough, and nothing else', async () => {
    await open.inbox.record(sampleArrival('old', { signsTime: false, ...unhandled('old'), query: 'tenant=a' }))
    await open.inbox.record(sampleArrival('young', { signsTime: false, ...unhandled('young') }))
    await open.inbox.record(sampleArrival('timed', unhandled('timed')))
    await open.events.updateOne({ eventId: 'old' }, { $set: { stripAt: new Date(0), settledAt: new Date(0) } })
    const before = await open.record('old')
    await stripOldBodies(open.db, RETENTION, going)
    const { _id, provider, eventId, bodyHash, receivedAt, deliveries, mismatches } = before
    const key = { _id, provider, eventId, handler: '', bodyHash, receivedAt, deliveries, mismatches }
    expect(await open.record('old')).toEqual({ ...key, state: 'done', reason: 'expired' })
    for (const id of ['young', 'timed']) expect((await open.record(id)).raw.toString()).toBe(`the body of ${id}`)
    expect(await open.inbox.record(sampleArrival('old', unhandled('old')))).toBe('duplicate')
  })

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
