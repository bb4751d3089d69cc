import { MongoClient } from 'mongodb'
import { MongoMemoryReplSet } from 'mongodb-memory-server-core'
import type { FoundMongod } from './find-mongod.ts'
import { REPLICA_SET, SMALL_SERVER, TEST_COMMANDS } from './mongod-arguments.ts'

/** A server that is removed with its data when it is disposed of, and when this process dies. */
export interface ThrowawayMongod extends AsyncDisposable {
  /** Connection string of the replica set, without a database. */
  readonly uri: string
  /** The process of its first node. */
  readonly pid: number
}

/** The settings of a server that is not for a test. */
export interface ThrowawayPurpose {
  /** Its flags. Default: those of a small server with fail points (`enableTestCommands`). */
  readonly flags?: readonly string[]
  /** An empty folder for its data. Default: one in the system's temporary folder. */
  readonly dbPath?: string
  /** With three, a write waits for a second node. Default: one. */
  readonly nodes?: 1 | 3
}

// An idle machine needs one second.
const READY_MS = 60_000
// The first election waits for the timeout too. Later a node of a busy machine may be late: MongoDB's default.
const FIRST_ELECTION_MS = 2_000
const ELECTION_MS = 10_000

/** Starts a real replica set on ports that the system chooses, on loopback only. It is ready when it has a primary. */
export async function startThrowawayMongod(
  { binary, version }: FoundMongod,
  { flags = [...SMALL_SERVER, ...TEST_COMMANDS], dbPath, nodes = 1 }: ThrowawayPurpose = {},
): Promise<ThrowawayMongod> {
  const server = await MongoMemoryReplSet.create({
    binary: { systemBinary: binary, version },
    instanceOpts: [{ launchTimeout: READY_MS, ...(dbPath === undefined ? {} : { dbPath }) }],
    replSet: {
      name: REPLICA_SET,
      count: nodes,
      configSettings: { electionTimeoutMillis: FIRST_ELECTION_MS },
      ip: '127.0.0.1',
      storageEngine: 'wiredTiger',
      args: ['--nounixsocket', ...flags],
    },
  })
  if (nodes === 3) await setElectionTimeout(server.getUri())
  return {
    uri: server.getUri(),
    pid: server.servers[0]?.instanceInfo?.instance.mongodProcess?.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      await server.stop({ doCleanup: true, force: true })
    },
  }
}

async function setElectionTimeout(uri: string): Promise<void> {
  await using client = await new MongoClient(uri).connect()
  const admin = client.db('admin')
  const { config } = await admin.command({ replSetGetConfig: 1 })
  const settings = { ...config.settings, electionTimeoutMillis: ELECTION_MS }
  await admin.command({ replSetReconfig: { ...config, version: config.version + 1, settings } })
}
