import { join } from 'node:path'
import { ALL_MUTATIONS as MUTATIONS } from './contracts/all-mutations.ts'
import { type Attempt, tryMutations } from './contracts/try-mutations.ts'
import { findMongod } from './mongod/find-mongod.ts'
import { startThrowawayMongod } from './mongod/throwaway-mongod.ts'

// Breaks each contract on both sides, in copies of the sources. The contract tests must notice, and name the consumers.
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const tell = ({ mutation, missed, failures, ms }: Attempt): void => {
  const verdict =
    missed.length === 0 ? `noticed for ${mutation.consumers.join(', ')}` : `MISSED for ${missed.join(', ')}`
  say(`${verdict}: ${mutation.breaks} (${Math.round(ms / 100) / 10} s)`)
  if (missed.length > 0) say(failures.join('\n'))
}
await using mongod = await startThrowawayMongod(await findMongod({ env: process.env, say }))
const env = { ...process.env, TEST_MONGODB_URI: mongod.uri }
const repository = join(import.meta.dirname, '..')
const attempts = await tryMutations({ repository, mutations: MUTATIONS, parallel: 2, env, tell })
process.exitCode = attempts.every(({ missed }) => missed.length === 0) ? 0 : 1
