import { setTimeout as sleep } from 'node:timers/promises'
import type { Lifecycle } from '../../lifecycle.ts'
import { EXIT_RESTART } from '../../settings.ts'
import type { DatabaseErrors } from '../database-errors.ts'
import { touch } from './majority-probe.ts'
import { createMongoConnection, type MongoConnection, type MongoOptions } from './mongo-connection.ts'
import { watchCredentials } from './refused-credentials.ts'

/** What all pools of a service share. */
interface PoolsDeps extends Omit<MongoOptions, 'appName' | 'maxPoolSize' | 'onRefused'> {
  readonly errors: DatabaseErrors
  readonly lifecycle: Pick<Lifecycle, 'onStop' | 'isStopping'>
  /** How long closing them may take at a stop, in milliseconds. */
  readonly closedWithinMs: number
}

/** Creates a connection pool with this name and number of connections. */
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
