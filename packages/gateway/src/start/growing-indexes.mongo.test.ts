import { randomUUID } from 'node:crypto'
import { ensureFormat } from '@oncehook/kernel/mongo/database-format'
import { ensureIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { Secret } from '@oncehook/kernel/secrets/secret'
import { DUE_INDEX, EVENTS, STATE_INDEX } from '@oncehook/queue/task'
import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { findMongod } from '../../../../scripts/mongod/find-mongod.ts'
import { startThrowawayMongod } from '../../../../scripts/mongod/throwaway-mongod.ts'
import { EVENT_INDEXES } from '../inbox/event-document.ts'
import { sampleRecord } from '../testing/sample-record.ts'
import { startGateway } from '../testing/start-gateway.ts'
import { createOperatorClient } from '../testing/start-operated-system.ts'

const SETTLED = 300
const TOKEN = randomUUID()
const BUILT = [DUE_INDEX, STATE_INDEX, 'replays', 'order']

it('takes deliveries and reads no collection from end to end while the indexes of searches are being built', async () => {
  await using server = await startThrowawayMongod(await findMongod({ env: process.env, say: () => undefined }))
  await using client = await new MongoClient(server.uri).connect()
  const db = client.db('own')
  const events = db.collection(EVENTS)
  await ensureFormat(db, { collection: EVENTS, setting: '' })
  await ensureIndexes(db, [EVENT_INDEXES])
  const due = {
    provider: 'acme',
    eventId: randomUUID(),
    type: 'payment.succeeded',
    state: 'pending',
    handler: 'fulfilment',
  }
  await events.insertOne({ ...due, facts: {}, objectId: 'p', orderId: 'o', requestId: 'r', attempts: [] })
  const settled = Array.from({ length: SETTLED }, () => sampleRecord())
  await events.insertMany(settled)
  const searchIndexes = EVENT_INDEXES.indexes.filter(({ name }) => BUILT.includes(name))
  for (const { name } of searchIndexes) await events.dropIndex(name)
  const hang = (mode: string): Promise<unknown> =>
    client.db('admin').command({ configureFailPoint: 'hangAfterStartingIndexBuild', mode })
  await hang('alwaysOn')
  const built = events.createIndexes([...searchIndexes])
  await expect.poll(async () => (await events.indexes()).map(({ name }) => name)).toContain(DUE_INDEX)
  await db.command({ profile: 2 })

  const settings = { OPERATOR_TOKENS: JSON.stringify({ alice: TOKEN }) }
  await using gateway = await startGateway({ database: { uri: new Secret(server.uri), name: 'own' }, settings })
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
  await expect.poll(() => gateway.logs.map(({ msg }) => msg)).toContain('dispatch.database-failed')
  await fetch(`${gateway.adminUrl}/metrics`)
  const operator = createOperatorClient(gateway.adminUrl, TOKEN)
  const notReady = { data: { httpStatus: 503 } }
  for (const filter of [{ state: 'dead' }, { orderId: 'o' }, { orderId: 'o', state: 'processing' }] as const) {
    await expect(operator.events.list.query(filter)).rejects.toMatchObject(notReady)
  }
  expect(await operator.overview.query()).toMatchObject({ deadByReason: null, states: { dead: null } })
  const ids = settled.slice(0, 1).map(({ _id }) => String(_id))
  const { replayId } = await operator.events.replay.mutate({ ids, reason: 'a test', includeDone: true })
  await expect(operator.replays.get.query({ replayId: String(replayId) })).rejects.toMatchObject(notReady)
  const most = { $or: [{ planSummary: 'COLLSCAN' }, { docsExamined: { $gt: SETTLED / 2 } }] }
  const scans = await db
    .collection('system.profile')
    .find({ ns: `own.${EVENTS}`, ...most })
    .toArray()
  expect(scans.map(({ command }) => command)).toEqual([])
  expect(await events.findOne({ eventId: due.eventId })).toMatchObject({ state: 'pending', handler: 'fulfilment' })

  await hang('off')
  await built
  // It is claimed and sent now. Nothing listens there, so that it is pending again a moment later.
  await expect.poll(() => gateway.logs.map(({ msg }) => msg)).toContain('handler.unreachable')
})
