import type { Db, Document } from 'mongodb'
import { SettingsError } from '../../settings.ts'

/** The type of deployment: a replica set, reached at its primary, or a sharded cluster behind mongos. */
export type Deployment = 'replica_set' | 'sharded'

/**
 * Checks that the server is the primary of a replica set or a mongos.
 * @throws SettingsError for a standalone server, and for a direct connection to a node that knows another primary
 * @throws Error while the node is not a primary, because an election may change this
 */
export async function checkDeployment(db: Db): Promise<Deployment> {
  const hello = await askHello(db)
  if (isMongos(hello)) return 'sharded'
  if (typeof hello.setName !== 'string') {
    throw new SettingsError(['MONGODB_URI names a standalone server: a replica set is required, one member is enough'])
  }
  if (hello.isWritablePrimary === true) return 'replica_set'
  // Without a direct connection, the node was the primary a moment ago. The next attempt finds the new one.
  if (hello.arbiterOnly === true || (typeof hello.primary === 'string' && db.client.options.directConnection)) {
    throw new SettingsError([
      'MONGODB_URI connects to one node that is not the primary: remove directConnection and add replicaSet',
    ])
  }
  throw notWritable()
}

/** Throws unless the node accepts writes now. */
export async function assertWritable(db: Db): Promise<void> {
  const hello = await askHello(db)
  if (hello.isWritablePrimary !== true && !isMongos(hello)) throw notWritable()
}

function askHello(db: Db): Promise<Document> {
  return db.command({ hello: 1 })
}

function isMongos(hello: Document): boolean {
  return hello.msg === 'isdbgrid'
}

function notWritable(): Error {
  return new Error('The node is not a primary')
}
