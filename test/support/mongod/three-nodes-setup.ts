import type { TestProject } from 'vitest/node'
import { findMongod } from '../../../scripts/mongod/find-mongod.ts'
import { startThrowawayMongod } from '../../../scripts/mongod/throwaway-mongod.ts'

/**
 * vitest's set-up of one project: its workers find a replica set of three in `TEST_MONGODB_URI`, instead of the one node of
 * the run. `MONGODB_URI`, where set, is used instead.
 */
export async function setup({ config: { env } }: TestProject): Promise<(() => PromiseLike<void>) | undefined> {
  if (process.env.MONGODB_URI) return undefined
  const found = await findMongod({ env: process.env, say: (line) => process.stderr.write(`${line}\n`) })
  const set = await startThrowawayMongod(found, { nodes: 3 })
  // It reaches the workers of this project only, and takes precedence there over what this process has.
  env.TEST_MONGODB_URI = set.uri
  return () => set[Symbol.asyncDispose]()
}
