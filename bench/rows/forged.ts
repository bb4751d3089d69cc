import type { Row } from '../row.ts'
import { startAccepting } from '../subjects/oncehook-accepting.ts'
import { createForgedTrial } from '../trials/forged-trial.ts'

const FLOODED = createForgedTrial({
  name: 'flooded',
  title: 'Oncehook, 50/s good, 500/s forged of 256 KiB',
  start: startAccepting,
  perSecond: 50, // with ten times as many forgeries about what a line of one gigabit a second carries
  forgedForEach: 10,
  forgedBytes: 262_144,
})

/** Forged deliveries with large bodies, ten for each good one. */
export const FORGED_ROW: Row = {
  name: 'forged',
  trials: [FLOODED],
  goals: [
    {
      what: 'Forged 256 KiB bodies, ten to one with good ones: p99 of the good ones',
      against: 'without the flood',
      figure: (read) => read(FLOODED, 'p99Ms') / read(FLOODED, 'calmP99Ms'),
      unit: 'times',
      direction: 'at most',
      target: 3,
      aim: 1.5,
    },
  ],
}
