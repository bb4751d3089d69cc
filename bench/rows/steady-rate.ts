import { startNaive } from '../receivers/baselines/naive.ts'
import { startAccepting } from '../receivers/oncehook/oncehook-accepting.ts'
import { atMost, ratio, row } from '../row.ts'
import { createOpenTrial } from '../trials/open-trial.ts'

const perSecond = 2_000

const NAIVE_STEADY = createOpenTrial({
  name: 'naive-steady',
  title: 'naive at 2,000/s by schedule',
  start: startNaive,
  perSecond,
})

const ONCEHOOK_STEADY = createOpenTrial({
  name: 'oncehook-steady',
  title: 'Oncehook at 2,000/s by schedule',
  start: startAccepting,
  perSecond,
})

/** How long deliveries wait when they come at a fixed rate. */
export const STEADY_RATE_ROW = row(
  'steady-rate',
  [NAIVE_STEADY, ONCEHOOK_STEADY],
  ratio({
    what: 'p99 at 2,000/s, open loop',
    against: 'naive',
    figure: 'p99Ms',
    of: ONCEHOOK_STEADY,
    to: NAIVE_STEADY,
    ...atMost('share', { target: 0.05, aim: 0.01 }),
  }),
)
