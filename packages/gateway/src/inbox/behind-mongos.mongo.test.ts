import { randomUUID } from 'node:crypto'
import { Secret } from '@oncehook/kernel/secret'
import { startOldMongos } from '@oncehook/kernel/testing/old-mongos'
import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { startReplicaSet, stopReplication } from '../../../../test/support/mongod/mongod-under-test.ts'
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

  const [kept, open] = [sampleArrival(randomUUID()), sampleArrival(randomUUID())]
  expect(await first.inbox.record(kept)).toBe('recorded')
  const replication = await stopReplication(set)
  // In parallel: each of them takes as long as a write may wait for a majority.
  expect(await Promise.all([first.inbox.record(open), second.inbox.record(kept)])).toEqual(['not_stored', 'duplicate'])
  const again = [first.inbox.record(open), second.inbox.record(open)]
  expect(await Promise.all(again)).toEqual(['not_stored', 'not_stored'])
  await replication.resume()
  await expect.poll(() => second.inbox.record(open)).toBe('duplicate')
  expect(await first.events.countDocuments({ eventId: open.event.id })).toBe(1)
}, 120_000)
