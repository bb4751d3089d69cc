import { type Db, MongoClient, MongoServerError, MongoServerSelectionError } from 'mongodb'
import { CommandFailure, UsageError } from '../exit-code.ts'

/** The databases of a deployment, as its administrator sees them. */
export interface Cluster extends AsyncDisposable {
  readonly admin: Db
  readonly config: Db
  readonly gateway: Db
  readonly fulfilment: Db
}

/** The collections that are sharded. */
export const COLLECTIONS = { events: 'events', orders: 'orders', payments: 'payments' } as const

/** Where the databases are. */
export interface ClusterPlace {
  readonly uri: string
  readonly gatewayDb: string
  readonly fulfilmentDb: string
}

/**
 * Connects to a deployment. A command there may take as long as an index build.
 * @throws UsageError, CommandFailure without the URI, which contains a password
 */
export async function openCluster({ uri, gatewayDb, fulfilmentDb }: ClusterPlace): Promise<Cluster> {
  const client = createClient(uri)
  try {
    await client.connect()
  } catch (error) {
    await client.close()
    throw explained(error)
  }
  return {
    admin: client.db('admin'),
    config: client.db('config'),
    gateway: client.db(gatewayDb),
    fulfilment: client.db(fulfilmentDb),
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** The same error, or one that says what to do. */
export function explained(error: unknown): unknown {
  if (error instanceof MongoServerSelectionError) {
    return new CommandFailure(
      'MongoDB cannot be reached. Check the host, the port and the TLS options of MONGODB_URI',
      {
        cause: error,
      },
    )
  }
  if (error instanceof Error && error.name === 'SettingsError')
    return new CommandFailure(error.message, { cause: error })
  if (!(error instanceof MongoServerError)) return error
  if (!REFUSED.has(Number(error.code))) return new CommandFailure(`MongoDB refused: ${error.message}`, { cause: error })
  return new CommandFailure(NEEDED_ROLES, { cause: error })
}

// Unauthorized, authentication failed.
const REFUSED = new Set([13, 18])
const NEEDED_ROLES =
  'MongoDB does not permit this. MONGODB_URI must name a user with the role clusterManager, and with dbAdmin and ' +
  'readWrite on both databases. The users of the services have fewer rights, so that they cannot do this'

function createClient(uri: string): MongoClient {
  try {
    const writeConcern = { w: 'majority', journal: true } as const
    return new MongoClient(uri, { appName: 'oncehook shard', serverSelectionTimeoutMS: 3_000, writeConcern })
  } catch {
    // The error may quote the URI.
    throw new UsageError('MONGODB_URI cannot be parsed')
  }
}
