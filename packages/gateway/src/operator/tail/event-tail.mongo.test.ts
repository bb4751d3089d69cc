import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import type { Clock } from '@oncehook/kernel/time/clock'
import { EVENTS } from '@oncehook/queue/task'
import { afterAll, describe, expect, it } from 'vitest'
import type { EventDocument } from '../../inbox/event-document.ts'
import { sampleRecord } from '../../testing/sample-record.ts'
import { createEventTail, type TailBatch, type TailReader } from './event-tail.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

/** A tail with a separate database. */
async function openTail(clock: Clock = Date) {
  const { db } = stack.use(await testDatabase(process.env))
  const events = db.collection<EventDocument>(EVENTS)
  await events.insertOne(sampleRecord())
  const { logger } = memoryLogger()
  const tail = createEventTail({ db, clock, now: () => performance.now(), logger })
  stack.defer(() => tail.stop())
  return { tail, events }
}

async function nextOf(reader: TailReader): Promise<TailBatch> {
  const batch = await reader.next(30_000)
  if (batch === null) throw new Error('There was no batch')
  return batch
}

describe('the stream of changes', () => {
  it('starts again, and says so, after the collection was replaced by a restored one', async () => {
    const { tail, events } = await openTail()
    const reader = tail.join('alice', null)
    expect(await nextOf(reader)).toMatchObject({ events: [], skipped: 0 })
    await events.drop()
    expect(await nextOf(reader)).toMatchObject({ events: [], skipped: null })
    const record = sampleRecord()
    await events.insertOne(record)
    const { events: shown, skipped } = await nextOf(reader)
    expect({ ids: shown.map(({ eventId }) => eventId), skipped }).toEqual({ ids: [record.eventId], skipped: 0 })
  })
})

describe('a slow reader', () => {
  it('is left eight batches, learns how many changes are missing, and continues', async () => {
    const { tail, events } = await openTail()
    const slow = tail.join('alice', null)
    const quick = tail.join('alice', null)
    await nextOf(slow)
    await nextOf(quick)
    for (let stored = 0; stored < 12; stored += 1) {
      await events.insertOne(sampleRecord())
      await nextOf(quick)
    }
    const left = await Promise.all(Array.from({ length: 8 }, () => nextOf(slow)))
    expect(left.map((batch) => [batch.events.length, batch.skipped])).toEqual([[1, 4], ...Array(7).fill([1, 0])])
    const record = sampleRecord()
    await events.insertOne(record)
    const { events: shown, skipped } = await nextOf(slow)
    expect([shown.map(({ eventId }) => eventId), skipped]).toEqual([[record.eventId], 0])
  })
})

describe('a reader that comes back', () => {
  it('learns that changes are missing if others have just begun a later stream', async () => {
    const { tail, events } = await openTail()
    const first = tail.join('alice', null)
    const { id } = await nextOf(first)
    first.leave()
    await events.insertOne(sampleRecord())
    const other = tail.join('alice', null)
    const back = tail.join('alice', id)
    expect(await nextOf(other)).toMatchObject({ skipped: 0 })
    expect(await nextOf(back)).toMatchObject({ skipped: null })
  })

  it('continues together with others that reconnect at the same position', async () => {
    const { tail, events } = await openTail()
    const first = tail.join('alice', null)
    const { id } = await nextOf(first)
    first.leave()
    const record = sampleRecord()
    await events.insertOne(record)
    for (const reader of [tail.join('alice', id), tail.join('alice', id)]) {
      const begun = await nextOf(reader)
      expect(begun.skipped).toBe(0)
      const { events: shown } = begun.events.length > 0 ? begun : await nextOf(reader)
      expect(shown.map(({ eventId }) => eventId)).toEqual([record.eventId])
    }
  })

  it('learns that changes are missing if its place is too long ago, whatever time its id claims', async () => {
    let shift = 0
    const clock = { now: () => Date.now() + shift }
    const { tail, events } = await openTail(clock)
    const first = tail.join('alice', null)
    const { id } = await nextOf(first)
    first.leave()
    await events.insertOne(sampleRecord())
    shift = 600_000
    const [, position] = id.split('-')
    const back = tail.join('alice', `${clock.now()}-${position}`)
    expect(await nextOf(back)).toMatchObject({ events: [], skipped: null })
    const record = sampleRecord()
    await events.insertOne(record)
    const { events: shown, skipped } = await nextOf(back)
    expect([shown.map(({ eventId }) => eventId), skipped]).toEqual([[record.eventId], 0])
  })
})
