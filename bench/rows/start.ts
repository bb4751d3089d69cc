import { openGateway, openNaive } from '../receivers/startable.ts'
import { atMost, ratio, row } from '../row.ts'
import { createStartTrial } from '../trials/start-trial.ts'

const NAIVE_STARTING = createStartTrial({ name: 'naive-start', title: 'naive, start to first 200', open: openNaive })

const ONCEHOOK_STARTING = createStartTrial({
  name: 'oncehook-start',
  title: 'Oncehook, start to first 200',
  open: openGateway,
})

/** How long deliveries are refused when a receiver is begun. */
export const START_ROW = row(
  'start',
  [NAIVE_STARTING, ONCEHOOK_STARTING],
  {
    what: 'Start to first durable 200, on its own database',
    against: 'naive',
    figure: ratio(ONCEHOOK_STARTING, NAIVE_STARTING, 'startMs'),
    ...atMost('times', { target: 0.85, aim: 0.65 }),
  },
  {
    what: 'Start to first durable 200, empty database',
    against: 'naive',
    figure: ratio(ONCEHOOK_STARTING, NAIVE_STARTING, 'firstStartMs'),
    ...atMost('times', { target: 0.85, aim: 0.65 }),
  },
)
