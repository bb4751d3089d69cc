import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { HARMLESS } from '../../scripts/contracts/mutations/harmless.ts'
import { MUTATIONS } from '../../scripts/contracts/mutations/mutations.ts'
import { sampleOf } from '../../scripts/contracts/mutations/sample-of.ts'
import { type Attempt, tryMutations } from '../../scripts/contracts/mutations/try-mutations.ts'

const DAY_MS = 86_400_000
const repository = join(import.meta.dirname, '..', '..')
const attempts = new Map<string, Attempt>()
// All of them take minutes: scripts/mutate-contracts.ts. Each day tries others, so that none goes untried for long.
const mutations = sampleOf(MUTATIONS, { count: 10, turn: Math.floor(Date.now() / DAY_MS) })

describe('the contract tests', () => {
  beforeAll(async () => {
    const tell = (attempt: Attempt): void => void attempts.set(attempt.mutation.breaks, attempt)
    await tryMutations({ repository, mutations, harmless: HARMLESS, parallel: 2, env: process.env, tell })
  }, 1_800_000)

  it.each(HARMLESS)('pass though $breaks', () => {
    expect(attempts.size).toBe(mutations.length)
  })

  it.each(mutations)('fail when $breaks, and say for whom', ({ breaks }) => {
    const { missed, failures } = attempts.get(breaks) ?? {}
    expect(missed, `What failed instead: ${failures?.join('\n') || 'nothing'}`).toEqual([])
  })
})
