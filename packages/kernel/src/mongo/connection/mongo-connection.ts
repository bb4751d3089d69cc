import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, MongoClient, type MongoClientOptions, MongoServerSelectionError, ReadConcern } from 'mongodb'
import type { Logger } from '../../logger.ts'
import type { Secret } from '../../secret.ts'
import { SettingsError } from '../../settings.ts'
import { withTimeout } from '../../with-timeout.ts'
import type { DatabaseErrors } from '../database-errors.ts'
import { assertWritable, checkDeployment } from './check-deployment.ts'
import { checkMongoUri } from './check-mongo-uri.ts'
import { createMajorityProbe } from './majority-probe.ts'
import { RefusedCredentials } from './refused-credentials.ts'

/** The deployment, database, application name and size of a connection pool. */
export interface MongoOptions {
  readonly uri: Secret
  readonly database: string
  readonly appName: string
  readonly maxPoolSize: number
  readonly logger: Logger
  /** Counts failed attempts to reach a server. Default: not counted. */
  readonly errors?: Pick<DatabaseErrors, 'count'>
  /** Called if the database has refused the credentials for ten seconds while it is opened. Default: `open` tries on. */
  readonly onRefused?: (error: unknown) => void
  /** Emits command events, for tests that inspect commands. Default: false. */
  readonly monitorCommands?: boolean
  /** Monotonic milliseconds, for intervals. Default: those of the process. */
  readonly now?: () => number
}

/** A connection to one database, with majority writes and a timeout for every wait. */
export interface MongoConnection {
  readonly client: MongoClient
  readonly db: Db
  /** The database with majority reads: a local read may return data that is rolled back later. */
  readonly durableDb: Db
  /**
   * Connects and runs `prepare` (indexes). Retries every second while the deployment is unreachable or rejects the
   * credentials. Gives up only on errors that an operator must fix.
   * @throws SettingsError
   */
  open(prepare?: (db: Db) => Promise<void>): Promise<void>
  /**
   * Throws unless `open` has finished, a primary responds, and a majority confirms a write. Checks the majority at
   * most every 5 s.
   */
  ping(): Promise<void>
  /** Resolves within a second, even if the server does not respond. */
  close(): Promise<void>
}

const RETRY_MS = 1_000
const CLOSE_MS = 800

// Together less than the 10 s of a request. The socket timeout exceeds the wait for a majority; otherwise a stored
// write would be reported as lost. Driver 7.8 ignores timeoutMS.
const BOUNDS = {
  connectTimeoutMS: 2_000,
  serverSelectionTimeoutMS: 3_000,
  heartbeatFrequencyMS: 2_000,
  waitQueueTimeoutMS: 3_000,
  socketTimeoutMS: 5_500,
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 4_000 },
  // A claim is read directly after it was written, and a node that lags behind would not return it.
  readPreference: 'primary',
  readConcernLevel: 'local',
} as const satisfies MongoClientOptions

/**
 * Creates a connection without opening it.
 * @throws SettingsError if the URL is malformed or requests other reads and writes
 */
export function createMongoConnection(options: MongoOptions): MongoConnection {
  const { database, logger, onRefused = () => undefined, now = () => performance.now() } = options
  let opened = false
  let closed = false
  const client = createClient(options)
  const db = client.db(database)
  const durableDb = client.db(database, { readConcern: new ReadConcern('majority') })
  const confirmMajority = createMajorityProbe({ db, id: options.appName, now })
  const connect = async (prepare?: (db: Db) => Promise<void>): Promise<void> => {
    await client.connect()
    await checkDeployment(db)
    await prepare?.(db)
    opened = true
  }
  const refused = new RefusedCredentials(now)
  const noteFailure = (error: unknown, tries: number): void => {
    throwUnlessRetriable(error)
    if (tries % 10 === 0) logger.warn({ error, database }, 'mongodb.unreachable')
    if (refused.isFinal(error)) onRefused(error)
  }
  return {
    client,
    db,
    durableDb,
    async open(prepare) {
      for (let tries = 0; !opened && !closed; tries += 1) {
        try {
          await connect(prepare)
        } catch (error) {
          noteFailure(error, tries)
          await sleep(RETRY_MS)
        }
      }
    },
    async ping() {
      if (!opened) throw new Error('The database is not open yet')
      await Promise.all([assertWritable(db), confirmMajority()])
    },
    async close() {
      closed = true
      // Closing ends the server sessions. An unavailable server would delay the shutdown by seconds.
      await withTimeout(client.close(), CLOSE_MS).catch(() => undefined)
    },
  }
}

function createClient(options: MongoOptions): MongoClient {
  const { uri } = options
  checkMongoUri(uri)
  const client = new MongoClient(uri.reveal(), {
    ...BOUNDS,
    appName: options.appName,
    maxPoolSize: options.maxPoolSize,
    monitorCommands: options.monitorCommands ?? false,
  })
  client.on('serverHeartbeatFailed', ({ failure }) => options.errors?.count(failure))
  return client
}

/** @throws SettingsError if another attempt would fail as well */
function throwUnlessRetriable(error: unknown): void {
  if (error instanceof SettingsError) throw error
  refuseForeignServers(error)
}

/** The driver discards servers that are not part of the set, so a wrong URL looks like an unreachable server. */
function refuseForeignServers(error: unknown): void {
  if (!(error instanceof MongoServerSelectionError) || error.reason?.setName == null) return
  if (error.reason.servers.size > 0) return
  throw new SettingsError([
    'MONGODB_URI names a replica set, but no server there belongs to it: they are standalone or in another set',
  ])
}
