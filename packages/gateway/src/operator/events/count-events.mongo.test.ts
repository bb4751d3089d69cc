import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS, TASK_STATES } from '@oncehook/queue/task'
import { afterAll, expect, it } from 'vitest'
import { EVENT_INDEXES, type EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import type { EventFilter } from './event-filter.ts'
import { countEvents, type SearchBudget } from './event-search.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))
await ensureIndexes(db, [EVENT_INDEXES])
const events = db.collection<EventDocument>(EVENTS)

const NO_END: SearchBudget = { ms: Number.POSITIVE_INFINITY, now: () => 0 }
const at = (second: number): Date => new Date(Date.UTC(2026, 5, 1, 0, 0, second))
const states = TASK_STATES.filter((state) => state !== 'processing')
const records = Array.from({ length: 7_000 }, (_, index) =>
  sampleRecord({
    ...{ receivedAt: at(index), state: states[index % states.length] ?? 'done', orderId: `ord_${index % 100}` },
  }),
)
await events.insertMany(records)

it.each<[filter: EventFilter, expected: (record: EventDocument, index: number) => boolean]>([
  [{ state: 'dead' }, ({ state }) => state === 'dead'],
  [{ state: 'dead', orderId: 'ord_13' }, ({ orderId, state }) => orderId === 'ord_13' && state === 'dead'],
  [{ from: at(100), to: at(5_900) }, (_, index) => index >= 100 && index < 5_900],
])('counts the events of %j', async (filter, expected) => {
  expect(await countEvents(db, filter, NO_END)).toEqual({ events: records.filter(expected).length, cut: null })
})

it('says how far it came when the time is over', async () => {
  let steps = 0
  const counted = await countEvents(db, {}, { ms: 1, now: () => steps++ })
  expect(counted).toEqual({ events: 500, cut: { searchedTo: records.at(-500)?._id.getTimestamp() } })
})
