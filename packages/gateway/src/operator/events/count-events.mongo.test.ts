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
    ...{ deliveries: index % 10 === 0 ? 3 : 1, mismatches: index % 35 === 0 ? 1 : 0 },
  }),
)
// What other software may have written.
const foreign = [{ _id: 7 }, { deliveries: 'many', mismatches: 'many' }].map(
  (members) => ({ ...sampleRecord({ receivedAt: at(0), orderId: 'ord_foreign', state: 'done' }), ...members }) as never,
)
await events.insertMany([...records, ...foreign])

it.each<[filter: EventFilter, expected: (record: EventDocument, index: number) => boolean]>([
  [{ provider: 'acme', from: at(1) }, (_, index) => index > 0],
  [{ state: 'dead' }, ({ state }) => state === 'dead'],
  [{ state: 'pending' }, ({ state }) => state === 'pending'],
  [{ orderId: 'ord_10' }, ({ orderId }) => orderId === 'ord_10'],
  [{ orderId: 'ord_10', state: 'closed' }, ({ orderId, state }) => orderId === 'ord_10' && state === 'closed'],
  [{ duplicates: 'changed' }, ({ mismatches }) => mismatches > 0],
  [{ from: at(100), to: at(5_900) }, (_, index) => index >= 100 && index < 5_900],
  [{ provider: 'nobody' }, () => false],
])('counts the events of %j, and duplicates among them', async (filter, expected) => {
  const matching = records.filter(expected)
  expect(await countEvents(db, filter, NO_END)).toEqual({
    events: matching.length,
    repeated: matching.filter(({ deliveries }) => deliveries > 1).length,
    changed: matching.filter(({ mismatches }) => mismatches > 0).length,
    cut: null,
  })
})

it('does not treat a text as a number', async () => {
  const counted = await countEvents(db, { orderId: 'ord_foreign' }, NO_END)
  expect(counted).toEqual({ events: 1, repeated: 0, changed: 0, cut: null })
})

it('says how far it came when the time is over', async () => {
  let steps = 0
  const counted = await countEvents(db, {}, { ms: 1, now: () => steps++ })
  const counts = { events: 500, repeated: 50, changed: 14 }
  expect(counted).toEqual({ ...counts, cut: { searchedTo: records.at(-500)?._id.getTimestamp() } })
})
