import type { Db, Document } from 'mongodb'
import { SettingsError } from '../settings.ts'

/** What answers at an address: the primary of a replica set, or a mongos in front of several. */
export type Deployment = 'replica_set' | 'sharded'

/**
 * Checks what answers at the address: the primary of a replica set, or a mongos.
 * @throws SettingsError for a standalone server, and for a direct connection to a node that knows another one as its primary
 * @throws Error while the node is no primary: an election may make it one
 */
export async function checkDeployment(db: Db): Promise<Deployment> {
  const hello = await askHello(db)
  if (isMongos(hello)) return 'sharded'
  if (typeof hello.setName !== 'string') {
    throw new SettingsError(['MONGODB_URI names a standalone server: a replica set is needed, one member is enough'])
  }
  if (hello.isWritablePrimary === true) return 'replica_set'
  // Without a direct connection the node was the primary a moment ago: the next try finds the new one.
  if (hello.arbiterOnly === true || (typeof hello.primary === 'string' && db.client.options.directConnection)) {
    throw new SettingsError([
      'MONGODB_URI connects to one node that is not the primary: leave directConnection out and name the replicaSet',
    ])
  }
  throw notWritable()
}

/** Throws unless the node that answers takes writes now. */
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
