import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { expect, it } from 'vitest'
import { sampleRecord } from '../../testing/sample-record.ts'
import { EVENT_INDEXES, type EventDocument } from '../event-document.ts'
import { findErasableEvents } from './erase-events.ts'

const STATES = ['done', 'pending', 'dead', 'closed', 'unhandled'] as const

it('finds the events of orders by an index, and reads no others, however many wait', async () => {
  await using database = await testDatabase(process.env)
  const { db } = database
  await ensureIndexes(db, [EVENT_INDEXES])
  const events = db.collection<EventDocument>(EVENTS)
  const dueAt = new Date()
  const others = Array.from({ length: 4_000 }, (_, at) =>
    sampleRecord({ orderId: `ord_${at}`, state: STATES[at % 2] ?? 'done', dueAt }),
  )
  const wanted = [...STATES, 'processing' as const].map((state) => sampleRecord({ orderId: 'ord_x', state, dueAt }))
  await events.insertMany([...others, ...wanted])
  await db.command({ profile: 2 })
  const found = await findErasableEvents(db, { orderIds: ['ord_x', 'ord_y'] })
  await db.command({ profile: 0 })
  expect(found.map(({ state }) => state).toSorted()).toEqual([...STATES, 'processing'].toSorted())
  const searches = await db
    .collection('system.profile')
    .find({ ns: `${db.databaseName}.${EVENTS}`, op: 'query' })
    .toArray()
  const shown = searches.map(({ planSummary, keysExamined, docsExamined }) => [planSummary, keysExamined, docsExamined])
  expect(shown.toSorted()).toEqual([
    ['IXSCAN { orderId: 1, _id: 1 }', 5, 5],
    [expect.stringMatching(/^IXSCAN \{ state: 1/), 1, 1],
  ])
})
