import { startPaying } from '../receivers/oncehook/oncehook-paying.ts'
import { atLeast, ratio, row } from '../row.ts'
import { createClosedTrial } from '../trials/closed-trial.ts'
import { NAIVE } from './accept.ts'

const PAYING = createClosedTrial({
  name: 'paying',
  title: 'Oncehook, accept, apply, settle',
  start: startPaying,
})

/** From delivery to payment: the clock stops when every event is settled and its order is paid. */
export const SETTLE_ROW = row('settle', [NAIVE, PAYING], {
  what: 'Accept, apply and settle together, events/s',
  against: "naive's accepts alone",
  figure: ratio(PAYING, NAIVE, 'perSecond'),
  ...atLeast('times', { target: 1.5, aim: 3 }),
})
