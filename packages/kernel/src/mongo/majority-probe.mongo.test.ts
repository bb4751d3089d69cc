import { MongoClient } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { Secret } from '../secrets/secret.ts'
import { armFailPoint } from '../testing/fail-point.ts'
import { memoryLogger } from '../testing/memory-logger.ts'
import { startSecuredMongod } from '../testing/secured-mongod.ts'
import { testDatabase } from '../testing/test-database.ts'
import { createMajorityProbe, READINESS } from './majority-probe.ts'
import { createMongoConnection } from './mongo-connection.ts'

const outcomeOf = (check: Promise<void>): Promise<string> =>
  check.then(
    () => 'ready',
    () => 'not ready',
  )

/** A connection whose clock always reports that the interval between two probe writes has passed. */
function connectionTo(uri: Secret, database: string) {
  const { logger } = memoryLogger()
  let hours = 0
  const now = (): number => ++hours * 3_600_000
  const made = createMongoConnection({ uri, database, appName: 'probe-test', maxPoolSize: 2, logger, now })
  return { ...made, [Symbol.asyncDispose]: () => made.close() }
}

describe('createMajorityProbe', () => {
  it('writes when it is called, at most every 5 s, once for all callers at the same time', async () => {
    await using database = await testDatabase(process.env)
    await using client = await new MongoClient(database.uri.reveal(), { monitorCommands: true }).connect()
    let writes = 0
    client.on('commandStarted', ({ commandName }) => {
      if (commandName === 'update') writes += 1
    })
    let now = 0
    const check = createMajorityProbe({ db: client.db(database.name), id: 'test', now: () => now })
    // A busy machine may not confirm a write in time. That makes no further write.
    const probe = (): Promise<string> => outcomeOf(check())
    await Promise.all(Array.from({ length: 20 }, probe))
    now = 4_999
    await probe()
    expect(writes).toBe(1)
    now = 5_000
    await probe()
    expect(writes).toBe(2)
    expect(await database.db.collection(READINESS).countDocuments()).toBeLessThanOrEqual(1)
  })

  it('does not count a node that answers without a majority behind it, and sees the majority come back', async () => {
    await using database = await testDatabase(process.env)
    await using mongo = connectionTo(database.uri, database.name)
    await mongo.open()
    await expect.poll(() => outcomeOf(mongo.ping())).toBe('ready')
    {
      const how = { writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' } }
      const failing = { commands: ['update'], appName: 'probe-test', after: 0, how }
      await using _ = await armFailPoint(database.uri, failing)
      expect(await outcomeOf(mongo.ping())).toBe('not ready')
      expect(await mongo.db.command({ hello: 1 })).toMatchObject({ isWritablePrimary: true })
    }
    await expect.poll(() => outcomeOf(mongo.ping())).toBe('ready')
  })

  it('needs only readWrite, and notices that a user has lost it', async () => {
    await using server = await startSecuredMongod(process.env)
    const user = { name: 'service', password: 'canary-0b1c2d3e4f' }
    await server.createUser('own', user)
    await using mongo = connectionTo(server.uriOf('own', user), 'own')
    await mongo.open()
    await expect.poll(() => outcomeOf(mongo.ping())).toBe('ready')
    await server.db('own').command({ revokeRolesFromUser: user.name, roles: ['readWrite'] })
    await expect.poll(() => outcomeOf(mongo.ping())).toBe('not ready')
    await server.db('own').command({ grantRolesToUser: user.name, roles: ['readWrite'] })
    await expect.poll(() => outcomeOf(mongo.ping())).toBe('ready')
  })
})
