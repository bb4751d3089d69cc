import { MongoClient } from 'mongodb'
import { expect, it } from 'vitest'
import { findMongod } from './find-mongod.ts'
import { becomePrimary } from './replica-set-of-one.ts'
import { startThrowawayMongod } from './throwaway-mongod.ts'

it.each(['serverStatus', 'replSetInitiate'])('asks again when the server closes the connection of %s', async (name) => {
  await using server = await startThrowawayMongod(await findMongod({ env: process.env, say: () => undefined }))
  await using client = await new MongoClient(server.uri).connect()
  const data = { failCommands: [name], closeConnection: true }
  await client.db('admin').command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data })

  const ready = becomePrimary({ address: new URL(server.uri).host, pid: server.pid, timeoutMs: 60_000 })

  await expect(ready).resolves.toBeUndefined()
})
