import { type Row, ratio } from '../row.ts'
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

/** Whether a store that has grown takes longer. The short form compares 2 thousand with 50 thousand. */
export const GROWTH_ROW: Row = {
  name: 'growth',
  trials: [FEW_STORED, MANY_STORED],
  goals: [
    {
      what: 'Accept rate with 1 million stored',
      against: 'with 10 thousand',
      figure: ratio(MANY_STORED, FEW_STORED, 'perSecond'),
      unit: 'times',
      direction: 'at least',
      target: 0.9,
      aim: 0.95,
    },
  ],
}
