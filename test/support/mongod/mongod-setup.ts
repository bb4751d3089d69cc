import { findMongod } from '../../../scripts/mongod/find-mongod.ts'
import { startThrowawayMongod } from '../../../scripts/mongod/throwaway-mongod.ts'

/**
 * vitest's global set-up: one real MongoDB for the whole run, whose connection string workers find in `TEST_MONGODB_URI`.
 * `MONGODB_URI`, where set, is used instead. The fault tests have three nodes: `three-nodes-setup.ts`.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.TEST_MONGODB_URI) return undefined
  if (process.env.MONGODB_URI) {
    process.env.TEST_MONGODB_URI = process.env.MONGODB_URI
    return undefined
  }
  const found = await findMongod({ env: process.env, say: (line) => process.stderr.write(`${line}\n`) })
  const server = await startThrowawayMongod(found)
  process.env.TEST_MONGODB_URI = server.uri
  return async () => await server[Symbol.asyncDispose]()
}
