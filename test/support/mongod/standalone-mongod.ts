import { MongoMemoryServer } from 'mongodb-memory-server-core'
import { findMongod } from '../../../scripts/mongod/find-mongod.ts'
import { SMALL_SERVER } from '../../../scripts/mongod/mongod-arguments.ts'
import { throwawayFolder } from '../../../scripts/mongod/throwaway-folder.ts'

/** A server that belongs to no replica set. */
export interface StandaloneMongod extends AsyncDisposable {
  readonly uri: string
}

const READY_MS = 120_000

/** Starts a standalone server on a port chosen by the system; it vanishes with its data. */
export async function startStandaloneMongod(): Promise<StandaloneMongod> {
  const { binary, version } = await findMongod({ env: process.env, say: console.error })
  const server = await MongoMemoryServer.create({
    binary: { systemBinary: binary, version },
    instance: {
      ip: '127.0.0.1',
      storageEngine: 'wiredTiger',
      args: ['--nounixsocket', ...SMALL_SERVER],
      launchTimeout: READY_MS,
      dbPath: await throwawayFolder(),
    },
  })
  return {
    uri: server.getUri(),
    [Symbol.asyncDispose]: async () => void (await server.stop({ doCleanup: true, force: true })),
  }
}
