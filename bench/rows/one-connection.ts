import { startNaive } from '../receivers/baselines/naive.ts'
import { startAccepting } from '../receivers/oncehook/oncehook-accepting.ts'
import { atMost, ratio, row } from '../row.ts'
import { createClosedTrial } from '../trials/closed-trial.ts'

const NAIVE_ALONE = createClosedTrial({
  name: 'naive-one',
  title: 'naive, one connection',
  start: startNaive,
  connections: 1,
})

const ONCEHOOK_ALONE = createClosedTrial({
  name: 'oncehook-one',
  title: 'Oncehook, one connection',
  start: startAccepting,
  connections: 1,
})

/** How long one delivery waits when it is alone. It waits mostly for the disk. */
export const ONE_CONNECTION_ROW = row(
  'one-connection',
  [NAIVE_ALONE, ONCEHOOK_ALONE],
  ratio({
    what: 'p50 with one connection',
    against: 'naive',
    figure: 'p50Ms',
    of: ONCEHOOK_ALONE,
    to: NAIVE_ALONE,
    ...atMost('times', { target: 1, aim: 0.85 }),
  }),
)
