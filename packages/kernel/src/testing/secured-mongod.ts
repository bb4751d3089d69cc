import { randomBytes } from 'node:crypto'
import { type Db, MongoClient } from 'mongodb'
import { MongoMemoryReplSet } from 'mongodb-memory-server-core'
import { findMongod } from '../../../../scripts/mongod/find-mongod.ts'
import { SMALL_SERVER } from '../../../../scripts/mongod/mongod-arguments.ts'
import { throwawayFolder } from '../../../../scripts/mongod/throwaway-folder.ts'
import { Secret } from '../secrets/secret.ts'

export interface SecuredMongod extends AsyncDisposable {
  readonly uri: Secret
  /** A database, accessed with all permissions. */
  db(name: string): Db
  createUser(database: string, user: { name: string; password: string; roles?: readonly string[] }): Promise<void>
  uriOf(database: string, user: { name: string; password: string }): Secret
}

// Takes about a second on an idle machine.
const READY_MS = 120_000

/** Starts such a server. It is removed together with its data. */
export async function startSecuredMongod(
  env: NodeJS.ProcessEnv,
  { setName = 'secured' }: { readonly setName?: string } = {},
): Promise<SecuredMongod> {
  const { binary, version } = await findMongod({ env, say: () => undefined })
  const root = { name: 'root', password: randomBytes(12).toString('hex') }
  const server = await MongoMemoryReplSet.create({
    binary: { systemBinary: binary, version },
    instanceOpts: [{ launchTimeout: READY_MS, dbPath: await throwawayFolder() }],
    replSet: {
      name: setName,
      ip: '127.0.0.1',
      storageEngine: 'wiredTiger',
      args: ['--nounixsocket', ...SMALL_SERVER],
      auth: {
        enable: true,
        customRootName: root.name,
        customRootPwd: root.password,
        keyfileContent: randomBytes(48).toString('base64'),
      },
    },
  })
  const uriOf: SecuredMongod['uriOf'] = (database, { name, password }) => {
    const uri = new URL(server.getUri())
    uri.username = name
    uri.password = password
    uri.pathname = `/${database}`
    return new Secret(uri.href)
  }
  const client = await new MongoClient(uriOf('admin', root).reveal()).connect()
  return {
    uri: uriOf('admin', root),
    db: (name) => client.db(name),
    async createUser(database, { name, password, roles = ['readWrite'] }) {
      await client.db(database).command({ createUser: name, pwd: password, roles })
    },
    uriOf,
    async [Symbol.asyncDispose]() {
      await client.close()
      await server.stop({ doCleanup: true, force: true })
    },
  }
}
