import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { afterAll, describe, expect, it } from 'vitest'
import { EVENT_INDEXES, EVENT_STATES, EVENTS, type EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { findNewest } from './find-newest.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
const events = db.collection<EventDocument>(EVENTS)

describe('the events of one order among those of many', () => {
  const minute = (at: number): Date => new Date(Date.UTC(2026, 0, 1, 0, at))
  const records = EVENT_STATES.map((state, at) => sampleRecord({ state, orderId: 'ord_x', receivedAt: minute(at) }))
  const idsOf = (found: readonly EventDocument[]): string[] => found.map(({ _id }) => String(_id))
  const newest = idsOf(records).toReversed()

  it('are found in every state, newest first, without reading the others', async () => {
    await ensureIndexes(db, [EVENT_INDEXES])
    await events.insertMany(records)
    await events.insertMany(Array.from({ length: 3_000 }, (_, at) => sampleRecord({ orderId: `ord_${at}` })))
    await db.command({ profile: 2 })
    const found = await findNewest(db, { filter: { orderId: 'ord_x' }, after: undefined, limit: 10 })
    await db.command({ profile: 0 })
    expect(idsOf(found)).toEqual(newest)
    const finds = await db
      .collection('system.profile')
      .find({ ns: `${db.databaseName}.${EVENTS}` })
      .toArray()
    expect(finds.length).toBeGreaterThan(0)
    // While the server compares plans, it may examine a few other records.
    for (const { docsExamined, planSummary } of finds) expect(docsExamined, planSummary).toBeLessThan(100)
  })

  it('are paged without gaps across the states', async () => {
    const first = await findNewest(db, { filter: { orderId: 'ord_x' }, after: undefined, limit: 4 })
    const rest = await findNewest(db, { filter: { orderId: 'ord_x' }, after: idsOf(first).at(-1), limit: 4 })
    expect([...idsOf(first), ...idsOf(rest)]).toEqual(newest)
  })

  it('are found by state', async () => {
    for (const [at, state] of EVENT_STATES.entries()) {
      const found = await findNewest(db, { filter: { orderId: 'ord_x', state }, after: undefined, limit: 4 })
      expect(idsOf(found)).toEqual([String(records[at]?._id)])
    }
  })
})
