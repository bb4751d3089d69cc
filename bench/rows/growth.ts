import { atLeast, ratio, row } from '../row.ts'
import { createGrowthTrial } from '../trials/growth-trial.ts'

const FEW_STORED = createGrowthTrial({
  name: 'few-stored',
  title: 'Oncehook, few records stored',
  records: ({ few }) => few,
  once: false,
})

const MANY_STORED = createGrowthTrial({
  name: 'many-stored',
  title: 'Oncehook, many records stored',
  records: ({ many }) => many,
  once: true,
})

/** Whether the gateway accepts more slowly with a grown store. The short form compares 2 thousand with 50 thousand. */
export const GROWTH_ROW = row(
  'growth',
  [FEW_STORED, MANY_STORED],
  ratio({
    what: 'Accept rate with 1 million stored',
    against: 'with 10 thousand',
    figure: 'perSecond',
    of: MANY_STORED,
    to: FEW_STORED,
    ...atLeast('times', { target: 0.9, aim: 0.95 }),
  }),
)
