import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { EVENTS } from '@oncehook/queue/task'
import { afterAll, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { countReceived } from './provider-health.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { db } = stack.use(await testDatabase(process.env))

const NOON = Date.UTC(2026, 5, 15, 12)
const NO_END = { ms: Number.POSITIVE_INFINITY, now: () => 0 }
const records = Array.from({ length: 1_500 }, (_, index) =>
  sampleRecord({ provider: index % 3 === 0 ? 'shop' : 'acme', receivedAt: new Date(NOON - index * 3_000) }),
)
// The second task of an event, which another handler wants too.
const further = records
  .slice(600, 601)
  .map(({ eventId, receivedAt }) => sampleRecord({ provider: 'shop', handler: 'mailer', eventId, receivedAt }))
await db.collection<EventDocument>(EVENTS).insertMany([...records, ...further])

it('counts each event of each provider once, within the last minute and hour', async () => {
  const { byProvider, countedFrom } = await countReceived(db, NOON, NO_END)
  expect(Object.fromEntries(byProvider)).toEqual({
    // 21 and 1,201 records, from 0 s to 60 s and 3,600 s ago.
    shop: { lastMinute: 7, lastHour: 401 },
    acme: { lastMinute: 14, lastHour: 800 },
  })
  expect(countedFrom).toEqual(new Date(NOON - 3_600_000))
})

it('says from when on it has counted if the time is over before', async () => {
  let steps = 0
  const { byProvider, countedFrom } = await countReceived(db, NOON, { ms: 1, now: () => steps++ })
  expect(byProvider.get('acme')?.lastHour).toBe(333)
  expect(countedFrom).toEqual(records[499]?.receivedAt)
})
