import type { Lifecycle } from '../../lifecycle.ts'
import { createMongoConnection, type MongoConnection, type MongoOptions } from './mongo-connection.ts'
import { RenewalGroup } from './renewal-group.ts'

/** What all pools of a service share. */
interface PoolsDeps extends Omit<MongoOptions, 'appName' | 'maxPoolSize' | 'group'> {
  readonly lifecycle: Pick<Lifecycle, 'onStop'>
  /** How long closing them may take at a stop, in milliseconds. */
  readonly closedWithinMs: number
}

/** Creates a connection pool with this name and number of connections. */
export type CreatePool = (pool: Pick<MongoOptions, 'appName' | 'maxPoolSize'>) => MongoConnection

/** Creates the pools of a service to one database. They renew their connections together, and close when it stops. */
export function createPools({ lifecycle, closedWithinMs, ...shared }: PoolsDeps): CreatePool {
  const group = new RenewalGroup(shared)
  const pools: MongoConnection[] = []
  const stop = async (): Promise<void> => void (await Promise.all(pools.map((pool) => pool.close())))
  lifecycle.onStop({ name: 'mongodb', withinMs: closedWithinMs, stop })
  return (pool) => {
    const created = createMongoConnection({ ...shared, ...pool, group })
    pools.push(created)
    return created
  }
}
