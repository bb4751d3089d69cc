// The connections of a service to one database. The URL may not weaken reads or writes, and the server must be the primary of a replica
// set; both are said at start. Everything else, such as an election, a network that is away or credentials that are not there yet,
// is waited for. Pools close when the service stops, and a process whose credentials stay refused ends.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Db,
  type Document,
  MongoClient,
  type MongoClientOptions,
  MongoServerSelectionError,
  ReadConcern,
} from 'mongodb'
import type { Logger } from '../log/logger.ts'
import type { Secret } from '../secrets/secret.ts'
import { EXIT_RESTART, SettingsError } from '../settings/settings.ts'
import type { Lifecycle } from '../time/lifecycle.ts'
import { withTimeout } from '../time/waits.ts'
import type { DatabaseErrors } from './database-errors.ts'
import { createMajorityProbe, touch } from './majority-probe.ts'
import { RefusedCredentials, watchCredentials } from './refused-credentials.ts'

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
export type MongoConnection = ReturnType<typeof createMongoConnection>

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
export function createMongoConnection(options: MongoOptions) {
  const { database, logger, onRefused = () => undefined, now = () => performance.now() } = options
  let opened = false
  let closed = false
  const client = createClient(options)
  const databaseNow = followClock(client, now)
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
    /** The database with majority reads: a local read may return data that is rolled back later. */
    durableDb,
    /** The time of the primary's clock in milliseconds, or a little earlier. Before it is known, the time of this process. */
    databaseNow,
    /**
     * Connects and runs `prepare` (indexes). Retries every second while the deployment is unreachable or rejects the
     * credentials. Gives up only on errors that an operator must fix.
     * @throws SettingsError
     */
    async open(prepare?: (db: Db) => Promise<void>): Promise<void> {
      for (let tries = 0; !opened && !closed; tries += 1) {
        try {
          await connect(prepare)
        } catch (error) {
          noteFailure(error, tries)
          await sleep(RETRY_MS)
        }
      }
    },
    /**
     * Throws unless `open` has finished, a primary responds, and a majority confirms a write. Checks the majority at
     * most every 5 s.
     */
    async ping(): Promise<void> {
      if (!opened) throw new Error('The database is not open yet')
      await Promise.all([assertWritable(db), confirmMajority()])
    },
    /** Resolves within a second, even if the server does not respond. */
    async close(): Promise<void> {
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

/** Every two seconds, the driver asks each server for its state. The answer has the time. If it comes late, the time is early. */
function followClock(client: MongoClient, now: () => number): () => number {
  let aheadMs = Date.now() - now()
  client.on('serverHeartbeatSucceeded', ({ reply: { isWritablePrimary, localTime } }) => {
    if (isWritablePrimary === true && localTime instanceof Date) aheadMs = localTime.getTime() - now()
  })
  return () => Math.floor(now() + aheadMs)
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

/**
 * Checks that the server is the primary of a replica set.
 * @throws SettingsError for a standalone server, a mongos, and a direct connection to a node that knows another primary
 * @throws Error while the node is not a primary, because an election may change this
 */
async function checkDeployment(db: Db): Promise<void> {
  checkHello(await askHello(db), db.client.options.directConnection)
}

/** Checks the answer of a server to `hello`, with a direct connection or without. Throws as above. */
export function checkHello(hello: Document, isDirect: boolean): void {
  if (hello.msg === 'isdbgrid') throw new SettingsError(['MONGODB_URI names a mongos: name a replica set'])
  if (typeof hello.setName !== 'string') {
    throw new SettingsError(['MONGODB_URI names a standalone server: a replica set is required, one member is enough'])
  }
  if (hello.isWritablePrimary === true) return
  // Without a direct connection, the node was the primary a moment ago. The next attempt finds the new one.
  if (hello.arbiterOnly === true || (typeof hello.primary === 'string' && isDirect)) {
    throw new SettingsError([
      'MONGODB_URI connects to one node that is not the primary: remove directConnection and add replicaSet',
    ])
  }
  throw notWritable()
}

async function assertWritable(db: Db): Promise<void> {
  const hello = await askHello(db)
  if (hello.isWritablePrimary !== true) throw notWritable()
}

function askHello(db: Db): Promise<Document> {
  return db.command({ hello: 1 })
}

function notWritable(): Error {
  return new Error('The node is not a primary')
}

/**
 * Checks the options of a MongoDB URL: writes need a journaled majority, and reads must use the primary. These values
 * may be set explicitly.
 * @throws SettingsError with every problem, without the URL
 */
function checkMongoUri(uri: Secret): void {
  const { writeConcern, readPreference, readConcern } = optionsOf(uri)
  const problems: string[] = []
  if (writeConcern?.w !== undefined && writeConcern.w !== 'majority')
    problems.push('MONGODB_URI sets a write concern below majority')
  if (writeConcern?.journal === false) problems.push('MONGODB_URI disables the journal')
  if (readPreference.mode !== 'primary')
    problems.push('MONGODB_URI sets another read preference: remove it or set readPreference=primary')
  if (readConcern !== undefined && readConcern.level !== 'majority')
    problems.push('MONGODB_URI sets another read concern: remove it or set readConcernLevel=majority')
  if (problems.length > 0) throw new SettingsError(problems)
}

function optionsOf(uri: Secret): MongoClient['options'] {
  try {
    return new MongoClient(uri.reveal()).options
  } catch {
    // A parse error may quote the URL, and therefore a password.
    throw new SettingsError(['MONGODB_URI cannot be parsed'])
  }
}

interface PoolsDeps extends Omit<MongoOptions, 'appName' | 'maxPoolSize' | 'onRefused'> {
  readonly errors: DatabaseErrors
  readonly lifecycle: Pick<Lifecycle, 'onStop' | 'isStopping'>
  /** How long closing them may take at a stop, in milliseconds. */
  readonly closedWithinMs: number
}

export type CreatePool = (pool: Pick<MongoOptions, 'appName' | 'maxPoolSize'>) => MongoConnection

/**
 * Creates the pools of a service to one database. They close when the service stops. If the database refuses the credentials for ten
 * seconds in a row, the process ends.
 */
export function createPools({ lifecycle, closedWithinMs, ...shared }: PoolsDeps): CreatePool {
  const { logger, database, errors } = shared
  const pools: MongoConnection[] = []
  const stop = async (): Promise<void> => void (await Promise.all(pools.map((pool) => pool.close())))
  lifecycle.onStop({ name: 'mongodb', withinMs: closedWithinMs, stop })
  const onRefused = (error: unknown): void => {
    // A stop has its own exit code.
    if (lifecycle.isStopping) return
    logger.fatal({ error, database }, 'mongodb.refused')
    process.exit(EXIT_RESTART)
  }
  errors.onError = watchCredentials({
    ask: async () => void (await Promise.all(pools.map(({ db }) => touch(db, 'credentials')))),
    onRefused,
    isStopping: () => lifecycle.isStopping,
    now: () => performance.now(),
    sleep: (ms) => sleep(ms, undefined, { ref: false }),
  })
  return (pool) => {
    const created = createMongoConnection({ ...shared, ...pool, onRefused })
    pools.push(created)
    return created
  }
}
