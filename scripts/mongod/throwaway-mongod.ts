import { MongoMemoryReplSet } from 'mongodb-memory-server-core'
import type { FoundMongod } from './find-mongod.ts'
import { REPLICA_SET, SMALL_SERVER, TEST_COMMANDS } from './mongod-arguments.ts'

/** A server that vanishes with its data when it is disposed of, and when this process dies. */
export interface ThrowawayMongod extends AsyncDisposable {
  /** Connection string of the replica set, without a database. */
  readonly uri: string
  readonly pid: number
}

/** What a server is for, where that is not a test. */
export interface ThrowawayPurpose {
  /** Its flags; those of a small server with fail points (`enableTestCommands`) otherwise. */
  readonly flags?: readonly string[]
  /** An empty folder for its data; one in the system's temporary folder otherwise. */
  readonly dbPath?: string
}

// A quiet machine needs a second.
const READY_MS = 60_000

/**
 * Starts a real replica set of one on a port chosen by the system, loopback only. Ready when it is primary.
 */
export async function startThrowawayMongod(
  { binary, version }: FoundMongod,
  { flags = [...SMALL_SERVER, ...TEST_COMMANDS], dbPath }: ThrowawayPurpose = {},
): Promise<ThrowawayMongod> {
  const server = await MongoMemoryReplSet.create({
    binary: { systemBinary: binary, version },
    instanceOpts: [{ launchTimeout: READY_MS, ...(dbPath === undefined ? {} : { dbPath }) }],
    replSet: {
      name: REPLICA_SET,
      count: 1,
      ip: '127.0.0.1',
      storageEngine: 'wiredTiger',
      args: ['--nounixsocket', ...flags],
    },
  })
  return {
    uri: server.getUri(),
    pid: server.servers[0]?.instanceInfo?.instance.mongodProcess?.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      await server.stop({ doCleanup: true, force: true })
    },
  }
}
