import { MongoMemoryReplSet } from 'mongodb-memory-server-core'
import type { FoundMongod } from './find-mongod.ts'
import { REPLICA_SET, SMALL_SERVER, TEST_COMMANDS } from './mongod-arguments.ts'

/** A server that is removed with its data when it is disposed of, and when this process dies. */
export interface ThrowawayMongod extends AsyncDisposable {
  /** Connection string of the replica set, without a database. */
  readonly uri: string
  readonly pid: number
}

/** The settings of a server that is not for a test. */
export interface ThrowawayPurpose {
  /** Its flags. Default: those of a small server with fail points (`enableTestCommands`). */
  readonly flags?: readonly string[]
  /** An empty folder for its data. Default: one in the system's temporary folder. */
  readonly dbPath?: string
}

// An idle machine needs one second.
const READY_MS = 60_000

/**
 * Starts a real replica set of one on a port that the system chooses, on loopback only. It is ready when it is primary.
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
