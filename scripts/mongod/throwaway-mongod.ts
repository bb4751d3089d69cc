import { MongoMemoryReplSet } from 'mongodb-memory-server-core'
import type { FoundMongod } from './find-mongod.ts'
import { REPLICA_SET, SMALL_SERVER, TEST_COMMANDS } from './mongod-arguments.ts'

/** A server that vanishes with its data when it is disposed of, and when this process dies. */
export interface ThrowawayMongod extends AsyncDisposable {
  /** Connection string of the replica set, without a database. */
  readonly uri: string
}

/**
 * Starts a real replica set of one in a temporary folder, on a port chosen by the system, loopback only, with fail points
 * (`enableTestCommands`). Ready when it is primary.
 */
export async function startThrowawayMongod({ binary, version }: FoundMongod): Promise<ThrowawayMongod> {
  const server = await MongoMemoryReplSet.create({
    binary: { systemBinary: binary, version },
    replSet: {
      name: REPLICA_SET,
      count: 1,
      ip: '127.0.0.1',
      storageEngine: 'wiredTiger',
      args: ['--nounixsocket', ...SMALL_SERVER, ...TEST_COMMANDS],
    },
  })
  return {
    uri: server.getUri(),
    [Symbol.asyncDispose]: async () => {
      await server.stop({ doCleanup: true, force: true })
    },
  }
}
