import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ALL_MUTATIONS as MUTATIONS } from '../../scripts/contracts/all-mutations.ts'
import { type Attempt, tryMutations } from '../../scripts/contracts/try-mutations.ts'

const repository = join(import.meta.dirname, '..', '..')
const attempts = new Map<string, Attempt>()

describe('the contract tests', () => {
  beforeAll(async () => {
    const parallel = Math.min(4, Math.max(2, availableParallelism()))
    const tell = (attempt: Attempt): void => void attempts.set(attempt.mutation.breaks, attempt)
    await tryMutations({ repository, mutations: MUTATIONS, parallel, env: process.env, tell })
  }, 900_000)

  it.each(MUTATIONS)('fail when $breaks, and say for whom', ({ breaks }) => {
    const { missed, failures } = attempts.get(breaks) ?? {}
    expect(missed, `What failed instead: ${failures?.join('\n') || 'nothing'}`).toEqual([])
  })
})
