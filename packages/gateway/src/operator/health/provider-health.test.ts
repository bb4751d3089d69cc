import { expect, it } from 'vitest'
import type { ProviderCounter } from '../../inbox/statistics/provider-stats.ts'
import { silenceOf } from './provider-health.ts'

const NOW = Date.parse('2026-06-15T12:00:00Z')
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const ago = (ms: number): Date => new Date(NOW - ms)

/** A counter of deliveries with an outcome; the last one this many minutes ago. */
function counter(name: string, minutes: number, gapMinutes: number): ProviderCounter {
  const gaps = { longestGapMs: gapMinutes * MINUTE_MS, gapsSince: ago(7 * DAY_MS) }
  return { _id: { provider: 'acme', kind: 'delivery', name }, count: 9, lastAt: ago(minutes * MINUTE_MS), ...gaps }
}

it.each<[what: string, stats: ProviderCounter[], expected: [last: number | null, gap: number | null, silent: boolean]]>(
  [
    ['without any delivery', [], [null, null, false]],
    ['that pauses as usual', [counter('recorded', 60, 30)], [60, 30, false]],
    ['that pauses for longer', [counter('recorded', 61, 30)], [61, 30, true]],
    ['that never pauses, for a quarter of an hour', [counter('recorded', 15, 1)], [15, 1, false]],
    ['that never pauses, for longer than that', [counter('recorded', 16, 1)], [16, 1, true]],
    [
      'that was observed for less than a week',
      [{ ...counter('recorded', 900, 1), gapsSince: ago(6.9 * DAY_MS) }],
      [900, null, false],
    ],
    ['that still sends other events', [counter('recorded', 900, 1), counter('unhandled', 2, 30)], [2, 1, false]],
    ['that sends repetitions', [counter('recorded', 90, 60), counter('duplicate', 300, 500)], [90, 60, false]],
    ['that only strangers call', [counter('signature_invalid', 1, 1), counter('recorded', 99, 9)], [99, 9, true]],
  ],
)('a provider %s', (_, stats, [last, gap, isSilent]) => {
  const lastDeliveryAt = last === null ? null : ago(last * MINUTE_MS)
  const usualGapMs = gap === null ? null : gap * MINUTE_MS
  expect(silenceOf(stats, NOW)).toEqual({ lastDeliveryAt, usualGapMs, silentSince: isSilent ? lastDeliveryAt : null })
})
