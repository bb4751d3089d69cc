import { openGateway, openNaive } from '../receivers/startable.ts'
import { type Row, ratio } from '../row.ts'
import { createStartTrial } from '../trials/start-trial.ts'

const NAIVE_STARTING = createStartTrial({ name: 'naive-start', title: 'naive, start to first 200', open: openNaive })

const ONCEHOOK_STARTING = createStartTrial({
  name: 'oncehook-start',
  title: 'Oncehook, start to first 200',
  open: openGateway,
})

/** How long deliveries are refused when a receiver is begun. */
export const START_ROW: Row = {
  name: 'start',
  trials: [NAIVE_STARTING, ONCEHOOK_STARTING],
  goals: [
    {
      what: 'Start to first durable 200, on its own database',
      against: 'naive',
      figure: ratio(ONCEHOOK_STARTING, NAIVE_STARTING, 'startMs'),
      unit: 'times',
      direction: 'at most',
      target: 0.85,
      aim: 0.65,
    },
    {
      what: 'Start to first durable 200, empty database',
      against: 'naive',
      figure: ratio(ONCEHOOK_STARTING, NAIVE_STARTING, 'firstStartMs'),
      unit: 'times',
      direction: 'at most',
      target: 0.85,
      aim: 0.65,
    },
  ],
}
