import { describe, expect, it } from 'vitest'
import { daysAgo, NOW, sampleSecret } from '../testing/sample-secret.ts'
import { adviseOnSecret } from './secrets-table.tsx'

describe('adviseOnSecret', () => {
  it.each([
    ['inUse', sampleSecret('new', 0.1), sampleSecret('old', 5)],
    ['neverMatched', sampleSecret('new', null), sampleSecret('old', 0.1)],
    ['stillMatches', sampleSecret('old', 1), sampleSecret('new', 0.1)],
    ['removable', sampleSecret('old', 4), sampleSecret('new', 0.1)],
    ['inUse', sampleSecret('only', 30), null],
    ['expiresSoon', sampleSecret('only', 0.1, daysAgo(-6)), null],
    ['expired', sampleSecret('old', 0.1, daysAgo(1)), null],
  ] as const)('says %s', (advice, one, other) => {
    expect(adviseOnSecret(one, other === null ? [one] : [one, other], NOW)).toBe(advice)
  })
})
