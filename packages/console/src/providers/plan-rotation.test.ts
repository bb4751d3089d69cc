import { describe, expect, it } from 'vitest'
import { planRotation } from './plan-rotation.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const daysAgo = (days: number): string => new Date(NOW - days * 86_400_000).toISOString()
const secret = (id: string, last: number | null, notAfter: string | null = null) => ({
  ...{ id, notAfter, lastMatchedAt: last === null ? null : daysAgo(last) },
})

describe('planRotation', () => {
  it.each([
    ['one secret', [secret('only', 0.1)], { step: 'add', newId: '2026-11-20' }],
    ['an id that is in use', [secret('2026-11-20', 0.1)], { step: 'add', newId: '2026-11-20-2' }],
    ['one that has ended', [secret('new', 0.1), secret('old', 9, daysAgo(1))], { step: 'add', newId: '2026-11-20' }],
    [
      'three, of which two have ended',
      [secret('new', 0.1), secret('b', 9, daysAgo(1)), secret('a', 9, daysAgo(2))],
      { step: 'clear', ended: 'b' },
    ],
    ['a new one that has not matched', [secret('new', null), secret('old', 0.1)], { step: 'switch', newest: 'new' }],
    ['both match', [secret('new', 0.1), secret('old', 0.2)], { step: 'watch', newest: 'new', older: ['old'] }],
    [
      'the old one is silent',
      [secret('new', 0.1), secret('old', 4)],
      { step: 'remove', newest: 'new', silent: ['old'] },
    ],
    [
      'both are silent, as the provider is',
      [secret('new', 5), secret('old', 4)],
      { step: 'watch', newest: 'new', older: ['old'] },
    ],
    [
      'the old one never matched',
      [secret('new', 5), secret('old', null)],
      { step: 'remove', newest: 'new', silent: ['old'] },
    ],
  ])('%s', (_, secrets, plan) => {
    expect(planRotation(secrets, NOW)).toEqual(plan)
  })
})
