import type { Db, Document } from 'mongodb'
import { SettingsError } from '../../settings.ts'

/**
 * Checks that the server is the primary of a replica set.
 * @throws SettingsError for a standalone server, a mongos, and a direct connection to a node that knows another primary
 * @throws Error while the node is not a primary, because an election may change this
 */
export async function checkDeployment(db: Db): Promise<void> {
  const hello = await askHello(db)
  if (hello.msg === 'isdbgrid') throw new SettingsError(['MONGODB_URI names a mongos: name a replica set'])
  if (typeof hello.setName !== 'string') {
    throw new SettingsError(['MONGODB_URI names a standalone server: a replica set is required, one member is enough'])
  }
  if (hello.isWritablePrimary === true) return
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
  if (hello.isWritablePrimary !== true) throw notWritable()
}

function askHello(db: Db): Promise<Document> {
  return db.command({ hello: 1 })
}

function notWritable(): Error {
  return new Error('The node is not a primary')
}
