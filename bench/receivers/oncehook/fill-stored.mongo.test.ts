import { EVENT_INDEXES, EVENTS, type EventDocument } from '@oncehook/gateway/inbox/event-document'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { testDatabase } from '@oncehook/kernel/testing/test-database'
import { Binary } from 'mongodb'
import { expect, it } from 'vitest'
import { findStored, type StoredEvent } from '../find-stored.ts'
import { fillStored } from './fill-stored.ts'

const DAY_MS = 86_400_000

it('fills a store with records like the template, each with its own id, body and times', async () => {
  await using database = await testDatabase(process.env)
  const { db } = database
  await ensureIndexes(db, [EVENT_INDEXES])
  const template = sampleRecord({
    eventId: 'evt_template',
    objectId: 'pi_template',
    raw: new Binary(Buffer.from('{"id":"evt_template","object":"pi_template"}')),
    expireAt: new Date(Date.now() + 90 * DAY_MS),
  })
  await fillStored(db, { template, count: 2_500 })

  const events = db.collection<EventDocument>(EVENTS)
  const records = await events.find().sort({ _id: 1 }).toArray()
  expect(records).toHaveLength(2_500)
  expect(new Set(records.map(({ eventId }) => eventId)).size).toBe(2_500)
  for (const { eventId, objectId, raw, expireAt, ...record } of records) {
    expect(JSON.parse(Buffer.from(raw.buffer).toString())).toEqual({ id: eventId, object: objectId })
    expect(Object.keys(record).length).toBe(Object.keys(template).length - 4)
    expect(expireAt!.getTime()).toBeGreaterThan(Date.now())
  }
  const received = records.map(({ receivedAt }) => receivedAt.getTime())
  expect(received).toEqual(received.toSorted((one, other) => one - other))

  const ids = records.slice(0, 3).map(({ eventId }) => eventId)
  const found = await findStored(db.collection<StoredEvent>(EVENTS), { provider: 'acme' }, [...ids, ...ids, 'evt_none'])
  expect(found.map(({ eventId }) => eventId).toSorted()).toEqual(ids.toSorted())
})
