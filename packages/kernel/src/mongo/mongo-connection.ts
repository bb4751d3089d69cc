import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, MongoClient, type MongoClientOptions, MongoServerSelectionError } from 'mongodb'
import type { Logger } from '../logger.ts'
import type { Secret } from '../secret.ts'
import { SettingsError } from '../settings.ts'
import { within } from '../within.ts'
import { assertWritable, checkDeployment } from './check-deployment.ts'
import { checkMongoUri } from './check-mongo-uri.ts'
import type { DatabaseErrors } from './database-errors.ts'
import { createMajorityProbe } from './majority-probe.ts'

/** Which deployment and database a connection is for, under which name it shows there, and how wide it is. */
export interface MongoOptions {
  readonly uri: Secret
  readonly database: string
  readonly appName: string
  readonly maxPoolSize: number
  readonly logger: Logger
  /** Where a server that cannot be reached is counted, every time that it was tried. Default: nowhere. */
  readonly errors?: Pick<DatabaseErrors, 'count'>
  /** Emits command events, for tests that watch what is sent. Default: false. */
  readonly monitorCommands?: boolean
}

/** A connection to one database with majority writes and an end to every wait. */
export interface MongoConnection {
  readonly client: MongoClient
  readonly db: Db
  /**
   * Connects and runs `prepare` (indexes). While the deployment cannot be reached or refuses the credentials it tries
   * again every second; it gives up only for what a person must put right.
   * @throws SettingsError
   */
  open(prepare?: (db: Db) => Promise<void>): Promise<void>
  /** Throws unless `open` has ended, a primary answers now, and a majority confirms a write: asked at most every 5 s. */
  ping(): Promise<void>
  /** Resolves within a second, also when the server does not answer any more. */
  close(): Promise<void>
}

const RETRY_MS = 1_000
const CLOSE_MS = 800

// Together below the 10 s of a request; the socket outlasts the wait for a majority, or a write that is stored would
// be reported as lost. Driver 7.8 ignores timeoutMS.
const BOUNDS = {
  connectTimeoutMS: 2_000,
  serverSelectionTimeoutMS: 3_000,
  heartbeatFrequencyMS: 2_000,
  waitQueueTimeoutMS: 3_000,
  socketTimeoutMS: 5_500,
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 4_000 },
  // A claim is read right after it was written: a node that lags behind would not show it.
  readPreference: 'primary',
  readConcernLevel: 'local',
} as const satisfies MongoClientOptions

/** What every raw write command of ours carries: `db.command` takes no write concern from the client. */
export const MAJORITY = { w: 'majority', j: true, wtimeout: 4_000 } as const

/**
 * Creates a connection that is not open yet.
 * @throws SettingsError when the address is malformed or asks for other reads and writes than ours
 */
export function createMongoConnection(options: MongoOptions): MongoConnection {
  checkMongoUri(options.uri)
  const client = new MongoClient(options.uri.reveal(), {
    ...BOUNDS,
    appName: options.appName,
    maxPoolSize: options.maxPoolSize,
    monitorCommands: options.monitorCommands ?? false,
  })
  client.on('serverHeartbeatFailed', ({ failure }) => options.errors?.count(failure))
  const db = client.db(options.database)
  const confirmMajority = createMajorityProbe({ db, id: options.appName, now: () => performance.now() })
  let opened = false
  let closed = false
  return {
    client,
    db,
    async open(prepare) {
      for (let tries = 0; !opened && !closed; tries += 1) {
        try {
          await client.connect()
          await checkDeployment(db)
          await prepare?.(db)
          opened = true
        } catch (error) {
          if (error instanceof SettingsError) throw error
          refuseForeignServers(error)
          if (tries % 10 === 0) options.logger.warn({ error, database: options.database }, 'mongodb.unreachable')
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
      // It tells the server of its sessions; a server that is away would hold up an orderly stop for seconds.
      await within(client.close(), CLOSE_MS)
    },
  }
}

/** The driver forgets each server that answers and is not of the set, so that a wrong address looks like none at all. */
function refuseForeignServers(error: unknown): void {
  if (!(error instanceof MongoServerSelectionError) || error.reason?.setName == null) return
  if (error.reason.servers.size > 0) return
  throw new SettingsError([
    'MONGODB_URI names a replica set to which no server there belongs: they stand alone or in another set',
  ])
}
