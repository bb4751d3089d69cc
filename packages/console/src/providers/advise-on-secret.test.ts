import { describe, expect, it } from 'vitest'
import { adviseOnSecret } from './advise-on-secret.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const daysAgo = (days: number): string => new Date(NOW - days * 86_400_000).toISOString()
const secret = (id: string, last: number | null, notAfter: string | null = null) => ({
  ...{ id, notAfter, lastMatchedAt: last === null ? null : daysAgo(last) },
})

describe('adviseOnSecret', () => {
  it.each([
    ['inUse', secret('new', 0.1), secret('old', 5)],
    ['neverMatched', secret('new', null), secret('old', 0.1)],
    ['stillMatches', secret('old', 1), secret('new', 0.1)],
    ['removable', secret('old', 4), secret('new', 0.1)],
    ['inUse', secret('only', 30), null],
    ['expiresSoon', secret('only', 0.1, daysAgo(-6)), null],
    ['expired', secret('old', 0.1, daysAgo(1)), null],
  ] as const)('says %s', (advice, one, other) => {
    expect(adviseOnSecret(one, other === null ? [one] : [one, other], NOW)).toBe(advice)
  })
})
