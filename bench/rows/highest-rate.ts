import { startNaive } from '../receivers/baselines/naive.ts'
import { startAccepting } from '../receivers/oncehook/oncehook-accepting.ts'
import { atLeast, atMost, ratio, row } from '../row.ts'
import { createHighestRateTrial } from '../trials/highest-rate-trial.ts'
import { p99AtSaturation } from '../trials/saturation.ts'

/** The naive receiver under rising rates. */
export const NAIVE_CLIMBING = createHighestRateTrial({
  name: 'naive-highest',
  title: 'naive, rate raised by schedule',
  start: startNaive,
  rates: [250, 500, 1_000, 1_250, 1_500, 1_750, 2_000, 2_250, 2_500, 3_000, 3_500, 4_000, 5_000],
})

/** The gateway alone under rising rates. */
export const ONCEHOOK_CLIMBING = createHighestRateTrial({
  name: 'oncehook-highest',
  title: 'Oncehook, rate raised by schedule',
  start: startAccepting,
  rates: [
    500, 1_000, 2_000, 2_500, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000, 11_000, 12_000, 14_000, 16_000,
  ],
})

/** The highest sustained rate, and the curve of latency against rate up to it. */
export const HIGHEST_RATE_ROW = row(
  'highest-rate',
  [NAIVE_CLIMBING, ONCEHOOK_CLIMBING],
  ratio({
    what: 'Highest open-loop rate with p99 under 100 ms, nothing failed',
    against: 'naive',
    figure: 'highestPerSecond',
    of: ONCEHOOK_CLIMBING,
    to: NAIVE_CLIMBING,
    ...atLeast('times', { target: 4 }),
  }),
  {
    what: 'The same rate by itself',
    against: 'absolute',
    figure: (read) => read(ONCEHOOK_CLIMBING, 'highestPerSecond'),
    ...atLeast('/s', { aim: 10_000 }),
  },
  {
    what: 'p99 at the rate where naive saturates, open loop',
    against: 'naive',
    figure: (_, curveOf) => p99AtSaturation(curveOf(ONCEHOOK_CLIMBING), curveOf(NAIVE_CLIMBING)),
    ...atMost('share', { target: 0.05, aim: 0.01 }),
  },
)
