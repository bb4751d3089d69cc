import { randomUUID } from 'node:crypto'
import { Secret } from '@oncehook/kernel/secret'
import { startOldMongos } from '@oncehook/kernel/testing/old-mongos'
import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { adminCommand, startReplicaSet } from '../../../../test/support/mongod-under-test.ts'
import { openInbox, sampleArrival } from '../testing/open-inbox.ts'

it('behind an old mongos: a repetition is no duplicate before a majority holds the record', async () => {
  await using set = await startReplicaSet(3, { electionsByHand: true })
  const primary = await set.primary()
  await using mongos = await startOldMongos(primary.port)
  const uri = new Secret(`mongodb://127.0.0.1:${mongos.port}/`)
  await using client = await new MongoClient(set.uri).connect()
  const database = { uri, name: 'own', client, db: client.db('own'), [Symbol.asyncDispose]: async () => {} }
  await using first = await openInbox(database)
  await using second = await openInbox(database)
  const replicate = (mode: 'alwaysOn' | 'off'): Promise<unknown> =>
    Promise.all(
      set.nodes
        .filter((node) => node !== primary)
        .map(({ port }) => adminCommand(port, { configureFailPoint: 'stopReplProducer', mode })),
    )

  const [kept, open] = [sampleArrival(randomUUID()), sampleArrival(randomUUID())]
  expect(await first.inbox.record(kept)).toBe('recorded')
  await replicate('alwaysOn')
  await expect.poll(() => first.inbox.record(sampleArrival(randomUUID()))).toBe('not_stored')
  expect(await first.inbox.record(open)).toBe('not_stored')
  expect(await first.inbox.record(open)).toBe('not_stored')
  expect(await second.inbox.record(open)).toBe('not_stored')
  expect(await second.inbox.record(kept)).toBe('duplicate')
  await replicate('off')
  await expect.poll(() => second.inbox.record(open)).toBe('duplicate')
  expect(await first.events.countDocuments({ eventId: open.event.id })).toBe(1)
}, 120_000)
