import { join } from 'node:path'
import { HARMLESS } from './contracts/mutations/harmless.ts'
import { MUTATIONS } from './contracts/mutations/mutations.ts'
import { type Attempt, tryMutations } from './contracts/mutations/try-mutations.ts'
import { findMongod } from './mongod/find-mongod.ts'
import { startThrowawayMongod } from './mongod/throwaway-mongod.ts'

// Breaks each contract on both sides, in copies of the sources. The contract tests must notice, and name the consumers.
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const tell = ({ mutation, missed, failures, ms }: Attempt): void => {
  const verdict =
    missed.length === 0 ? `noticed for ${mutation.consumers.join(', ')}` : `MISSED for ${missed.join(', ')}`
  say(`${verdict}: ${mutation.breaks} (${Math.round(ms / 100) / 10} s)`)
  if (missed.length > 0) say(failures.map((failure) => failure.replace(/\n +at .*/s, '')).join('\n'))
}
await using mongod = await startThrowawayMongod(await findMongod({ env: process.env, say }))
const env = { ...process.env, TEST_MONGODB_URI: mongod.uri }
const repository = join(import.meta.dirname, '..')
// With words as arguments, only the mutations that contain one of them, and no harmless changes.
const words = process.argv.slice(2)
const mutations = MUTATIONS.filter(({ breaks }) => words.length === 0 || words.some((word) => breaks.includes(word)))
const harmless = words.length === 0 ? HARMLESS : null
const attempts = await tryMutations({ repository, mutations, harmless, parallel: 2, env, tell })
const noticed = attempts.filter(({ missed }) => missed.length === 0)
say(
  `${noticed.length} of ${attempts.length} mutations were noticed, and ${harmless?.length ?? 0} harmless changes were not`,
)
process.exitCode = noticed.length === attempts.length ? 0 : 1
