import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient, MongoServerError } from 'mongodb'
import { MongoMemoryReplSet } from 'mongodb-memory-server-core'
import type { FoundMongod } from './find-mongod.ts'
import { QUICK_SERVER, REPLICA_SET, SMALL_SERVER, TEST_COMMANDS } from './mongod-arguments.ts'
import { throwawayFolder } from './throwaway-folder.ts'

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
  /** An empty folder for the data of its first node. Default: `throwawayFolder`. */
  readonly dbPath?: string
  /** With three, a write waits for a second node. Default: one. */
  readonly nodes?: 1 | 3
}

// An idle machine needs one second.
const READY_MS = 120_000
// The first election waits for the timeout too. Later a node of a busy machine may be late: MongoDB's default.
const FIRST_ELECTION_MS = 2_000
const ELECTION_MS = 10_000

/** Starts a real replica set on ports that the system chooses, on loopback only. It is ready when it has a primary. */
export async function startThrowawayMongod(
  { binary, version }: FoundMongod,
  { flags = [...SMALL_SERVER, ...QUICK_SERVER, ...TEST_COMMANDS], dbPath, nodes = 1 }: ThrowawayPurpose = {},
): Promise<ThrowawayMongod> {
  const folders = [dbPath ?? (await throwawayFolder())]
  while (folders.length < nodes) folders.push(await throwawayFolder())
  const server = await MongoMemoryReplSet.create({
    binary: { systemBinary: binary, version },
    instanceOpts: folders.map((folder) => ({ launchTimeout: READY_MS, dbPath: folder })),
    replSet: {
      name: REPLICA_SET,
      count: nodes,
      configSettings: { electionTimeoutMillis: FIRST_ELECTION_MS },
      ip: '127.0.0.1',
      storageEngine: 'wiredTiger',
      args: ['--nounixsocket', ...flags],
    },
  })
  const end = async (): Promise<void> => void (await server.stop({ doCleanup: true, force: true }))
  try {
    if (nodes === 3) await setElectionTimeout(server.getUri())
  } catch (error) {
    await end()
    throw error
  }
  const pid = server.servers[0]?.instanceInfo?.instance.mongodProcess?.pid ?? 0
  return { uri: server.getUri(), pid, [Symbol.asyncDispose]: end }
}

// ConfigurationInProgress, CurrentConfigNotCommittedYet: not all nodes have the first configuration yet.
const TOO_EARLY = [109, 308]
const AGAIN_MS = 200

async function setElectionTimeout(uri: string): Promise<void> {
  await using client = await new MongoClient(uri).connect()
  const admin = client.db('admin')
  const { config } = await admin.command({ replSetGetConfig: 1 })
  const settings = { ...config.settings, electionTimeoutMillis: ELECTION_MS }
  const command = { replSetReconfig: { ...config, version: config.version + 1, settings } }
  for (const latest = performance.now() + READY_MS; ; await sleep(AGAIN_MS)) {
    try {
      await admin.command(command)
      return
    } catch (error) {
      const isEarly = error instanceof MongoServerError && TOO_EARLY.includes(Number(error.code))
      if (!isEarly || performance.now() > latest) throw error
    }
  }
}
