import { startNaivePaying } from '../receivers/baselines/naive-paying.ts'
import { startPaying } from '../receivers/oncehook/oncehook-paying.ts'
import { atLeast, type Row, ratio } from '../row.ts'
import { createClosedTrial } from '../trials/closed-trial.ts'
import { NAIVE } from './accept.ts'

const PAYING = createClosedTrial({
  name: 'paying',
  title: 'Oncehook, accept, apply, settle',
  start: startPaying,
})

const NAIVE_PAYING = createClosedTrial({
  name: 'naive-paying',
  title: 'Express, stripe: insert, pay, receipt, mark',
  start: startNaivePaying,
})

/** From delivery to payment: the clock stops when every event is settled and its order is paid. */
export const SETTLE_ROW: Row = {
  name: 'settle',
  trials: [NAIVE, NAIVE_PAYING, PAYING],
  goals: [
    ratio({
      what: 'Accept, apply and settle together, events/s',
      against: "naive's accepts alone",
      figure: 'perSecond',
      of: PAYING,
      to: NAIVE,
      ...atLeast('times', { target: 1.5, aim: 3 }),
    }),
    ratio({
      what: 'Accept, apply and settle together, events/s',
      against: 'naive that pays the order before it answers',
      figure: 'perSecond',
      of: PAYING,
      to: NAIVE_PAYING,
      ...atLeast('times', { target: 1.5, aim: 3 }),
    }),
  ],
}
