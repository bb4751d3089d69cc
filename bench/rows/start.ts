import { openGateway, openNaive } from '../receivers/startable.ts'
import { atMost, type Goal, ratio, row } from '../row.ts'
import type { Figures } from '../trial.ts'
import { createStartTrial } from '../trials/start-trial.ts'

const NAIVE_STARTING = createStartTrial({ name: 'naive-start', title: 'naive, start to first 200', open: openNaive })

const ONCEHOOK_STARTING = createStartTrial({
  name: 'oncehook-start',
  title: 'Oncehook, start to first 200',
  open: openGateway,
})

/** How long deliveries are refused while a receiver starts. */
export const START_ROW = row(
  'start',
  [NAIVE_STARTING, ONCEHOOK_STARTING],
  goalOf('startMs', 'Start to first durable 200, on its own database'),
  goalOf('firstStartMs', 'Start to first durable 200, empty database'),
)

function goalOf(figure: keyof Figures, what: string): Goal {
  return ratio({
    what,
    against: 'naive',
    figure,
    of: ONCEHOOK_STARTING,
    to: NAIVE_STARTING,
    ...atMost('times', { target: 0.85, aim: 0.65 }),
  })
}
