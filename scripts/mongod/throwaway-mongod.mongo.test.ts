import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { findMongod } from './find-mongod.ts'
import { startThrowawayMongod } from './throwaway-mongod.ts'

describe('startThrowawayMongod', () => {
  it('is a writable replica set with fail points and without zlib', async () => {
    await using server = await startThrowawayMongod(await findMongod({ env: process.env, say: () => undefined }))
    const client = await new MongoClient(server.uri).connect()
    try {
      const admin = client.db('admin')
      const hello = await admin.command({ hello: 1 })
      expect(hello).toMatchObject({ isWritablePrimary: true, setName: 'rs0' })
      const { parsed } = await admin.command({ getCmdLineOpts: 1 })
      expect(parsed.net).toMatchObject({ bindIp: '127.0.0.1', compression: { compressors: 'snappy,zstd' } })
      await expect(admin.command({ configureFailPoint: 'failCommand', mode: 'off' })).resolves.toMatchObject({ ok: 1 })
      const majority = { writeConcern: { w: 'majority', journal: true } } as const
      await expect(client.db('t').collection('x').insertOne({ a: 1 }, majority)).resolves.toBeDefined()
    } finally {
      await client.close()
    }
  })

  it('has three nodes if it is asked for them, and a late node causes no election', async () => {
    const found = await findMongod({ env: process.env, say: () => undefined })
    await using server = await startThrowawayMongod(found, { nodes: 3 })
    await using client = await new MongoClient(server.uri).connect()
    const { config } = await client.db('admin').command({ replSetGetConfig: 1 })
    expect(config.members).toHaveLength(3)
    expect(config.settings.electionTimeoutMillis).toBe(10_000)
    const onAll = { writeConcern: { w: 3, journal: true } } as const
    await expect(client.db('t').collection('x').insertOne({ a: 1 }, onAll)).resolves.toBeDefined()
  })
})
