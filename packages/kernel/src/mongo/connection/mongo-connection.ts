import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Db,
  MongoClient,
  type MongoClientOptions,
  MongoServerError,
  MongoServerSelectionError,
  ReadConcern,
} from 'mongodb'
import type { Logger } from '../../logger.ts'
import type { Secret } from '../../secret.ts'
import { SettingsError } from '../../settings.ts'
import type { DatabaseErrors } from '../database-errors.ts'
import { createAddressFingerprint } from './address-fingerprint.ts'
import { assertWritable, checkDeployment } from './check-deployment.ts'
import { checkMongoUri } from './check-mongo-uri.ts'
import { assertSameDeployment, type DeploymentIdentity, ensureIdentity } from './deployment-identity.ts'
import { type ForwardOptions, forwardDatabase } from './forward-database.ts'
import { createMajorityProbe } from './majority-probe.ts'
import { RenewableClient } from './renewable-client.ts'
import { RenewalGroup } from './renewal-group.ts'

/** The deployment, database, application name and size of a connection pool. */
export interface MongoOptions {
  readonly uri: Secret
  /** Reads the URL again if it may change at run time; throws SettingsError. Default: `uri`. */
  readonly readUri?: () => Secret
  readonly database: string
  readonly appName: string
  readonly maxPoolSize: number
  readonly logger: Logger
  /** Counts failed attempts to reach a server. Default: not counted. */
  readonly errors?: Pick<DatabaseErrors, 'count'>
  /** Connections that are replaced together with this one. Default: none. */
  readonly group?: RenewalGroup
  /** Emits command events, for tests that inspect commands. Default: false. */
  readonly monitorCommands?: boolean
  /** Monotonic milliseconds, for the interval of majority checks. Default: those of the process. */
  readonly now?: () => number
}

/** A connection to one database, with majority writes and a timeout for every wait. */
export interface MongoConnection {
  /** The current client. It is replaced when the server signs it out, and when its URL or TLS files change. */
  readonly client: MongoClient
  /** The database, whichever client is current. */
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
  const { database, logger, now = () => performance.now() } = options
  let prepare: ((db: Db) => Promise<void>) | undefined
  let identity: DeploymentIdentity | null = null
  let opened = false
  let closed = false
  const verify = async (client: MongoClient): Promise<void> => {
    const own = client.db(database)
    await client.connect()
    await checkDeployment(own)
    if (identity !== null) await assertSameDeployment(own, identity)
    const [known] = await Promise.all([identity ?? ensureIdentity(own), prepare?.(own)])
    identity = known
  }
  const readUri = options.readUri ?? (() => options.uri)
  const fingerprint = createAddressFingerprint(readUri)
  const create = (): MongoClient => createClient(readUri(), options)
  const group = options.group ?? new RenewalGroup({ logger, database })
  const clients = new RenewableClient({ create, fingerprint, verify, group })
  const forwarding: ForwardOptions = {
    client: () => clients.current,
    name: database,
    onError(error, client) {
      if (client === clients.current && isSignedOut(error)) clients.renew('signed_out')
    },
  }
  const db = forwardDatabase(forwarding)
  const durableDb = forwardDatabase({ ...forwarding, options: { readConcern: new ReadConcern('majority') } })
  const confirmMajority = createMajorityProbe({ db, id: options.appName, now })
  return {
    get client() {
      return clients.current
    },
    db,
    durableDb,
    async open(preparation) {
      prepare = preparation
      for (let tries = 0; !opened && !closed; tries += 1) {
        try {
          await verify(clients.current)
          opened = true
          clients.watch()
        } catch (error) {
          throwUnlessRetriable(error)
          if (tries % 10 === 0) logger.warn({ error, database }, 'mongodb.unreachable')
          await sleep(RETRY_MS)
          clients.refresh()
        }
      }
    },
    async ping() {
      if (!opened) throw new Error('The database is not open yet')
      await Promise.all([assertWritable(db), confirmMajority()])
    },
    async close() {
      closed = true
      await clients.close()
    },
  }
}

function createClient(uri: Secret, options: MongoOptions): MongoClient {
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

const UNAUTHORIZED = 13
const AUTHENTICATION_FAILED = 18

/**
 * Whether the server no longer accepts the credentials of a connection, because its user was created again. A missing
 * permission does not count.
 */
function isSignedOut(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false
  if (error.code === AUTHENTICATION_FAILED) return true
  return error.code === UNAUTHORIZED && /authentication/i.test(error.message)
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
