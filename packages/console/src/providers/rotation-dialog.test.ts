import { describe, expect, it } from 'vitest'
import { daysAgo, NOW, sampleSecret } from '../testing/sample-secret.ts'
import { planRotation } from './rotation-dialog.tsx'

describe('planRotation', () => {
  it.each([
    ['one secret', [sampleSecret('only', 0.1)], { step: 'add', newId: '2026-11-20' }],
    ['an id that is in use', [sampleSecret('2026-11-20', 0.1)], { step: 'add', newId: '2026-11-20-2' }],
    [
      'one that has ended',
      [sampleSecret('new', 0.1), sampleSecret('old', 9, daysAgo(1))],
      { step: 'add', newId: '2026-11-20' },
    ],
    [
      'three, of which two have ended',
      [sampleSecret('new', 0.1), sampleSecret('b', 9, daysAgo(1)), sampleSecret('a', 9, daysAgo(2))],
      { step: 'clear', ended: 'b' },
    ],
    [
      'a new one that has not matched',
      [sampleSecret('new', null), sampleSecret('old', 0.1)],
      { step: 'switch', newest: 'new' },
    ],
    [
      'both match',
      [sampleSecret('new', 0.1), sampleSecret('old', 0.2)],
      { step: 'watch', newest: 'new', older: ['old'] },
    ],
    [
      'the old one is silent',
      [sampleSecret('new', 0.1), sampleSecret('old', 4)],
      { step: 'remove', newest: 'new', silent: ['old'] },
    ],
    [
      'both are silent, as the provider is',
      [sampleSecret('new', 5), sampleSecret('old', 4)],
      { step: 'watch', newest: 'new', older: ['old'] },
    ],
    [
      'the old one never matched',
      [sampleSecret('new', 5), sampleSecret('old', null)],
      { step: 'remove', newest: 'new', silent: ['old'] },
    ],
  ])('%s', (_, secrets, plan) => {
    expect(planRotation(secrets, NOW)).toEqual(plan)
  })
})
