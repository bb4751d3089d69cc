import { startNaive } from '../receivers/baselines/naive.ts'
import { startAccepting } from '../receivers/oncehook/oncehook-accepting.ts'
import { atLeast, ratio, row } from '../row.ts'
import { createClosedTrial } from '../trials/closed-trial.ts'
import { ACCEPTING } from './accept.ts'

const NAIVE_REPEATED = createClosedTrial({
  name: 'naive-repeated',
  title: 'naive, 95 % duplicates',
  start: startNaive,
  mix: 'repeated',
})

const ONCEHOOK_REPEATED = createClosedTrial({
  name: 'oncehook-repeated',
  title: 'Oncehook, 95 % duplicates',
  start: startAccepting,
  mix: 'repeated',
})

/** Storms of repetitions, each signed again: 19 of 20 deliveries report an event that was sent before. */
export const DUPLICATES_ROW = row(
  'duplicates',
  [ACCEPTING, NAIVE_REPEATED, ONCEHOOK_REPEATED],
  ratio({
    what: '95 % duplicates, accepts/s',
    against: 'own unique rate',
    figure: 'perSecond',
    of: ONCEHOOK_REPEATED,
    to: ACCEPTING,
    ...atLeast('times', { target: 1.3, aim: 1.6 }),
  }),
  ratio({
    what: '95 % duplicates, accepts/s',
    against: 'naive with the same',
    figure: 'perSecond',
    of: ONCEHOOK_REPEATED,
    to: NAIVE_REPEATED,
    ...atLeast('times', { target: 4.5, aim: 8 }),
  }),
)
