import { memoryLogger } from '@oncehook/kernel/testing/memory-logger'
import { describe, expect, it } from 'vitest'
import type { Claims } from './claims.ts'
import { indexedClaims } from './indexed-claims.ts'

const methods = {
  claimDue: [],
  takeOver: { taken: [], poisoned: 0, againInMs: 0 },
  begin: undefined,
  releaseStrays: 0,
  beat: undefined,
  leave: undefined,
  doubt: undefined,
  settle: [],
  release: undefined,
} satisfies Record<keyof Claims, unknown>

describe('indexedClaims', () => {
  it.each(Object.entries(methods))('passes every argument of %s on, and its result back', async (name, result) => {
    const received: unknown[][] = []
    const answer = (...given: unknown[]): Promise<unknown> => {
      received.push(given)
      return Promise.resolve(result)
    }
    const claims = Object.fromEntries(Object.keys(methods).map((method) => [method, answer])) as unknown as Claims
    const wrapped = indexedClaims(claims, { logger: memoryLogger().logger, now: () => 0 })
    const given = [{ first: 1 }, { second: 2 }, { third: 3 }]
    const call = wrapped[name as keyof Claims] as (...args: unknown[]) => Promise<unknown>
    expect(await call(...given)).toBe(result)
    expect(received).toEqual([given])
  })
})
