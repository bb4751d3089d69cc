import { startAccepting } from '../receivers/oncehook/oncehook.ts'
import { atMost, type Row } from '../row.ts'
import { createForgedTrial } from '../trials/forged-trial.ts'

const FLOODED = createForgedTrial({
  name: 'flooded',
  title: 'Oncehook, 50/s good, 500/s forged of 256 KiB',
  start: startAccepting,
  perSecond: 50, // with ten times as many forgeries, about the capacity of a 1 Gbit/s line
  forgedForEach: 10,
  forgedBytes: 262_144,
})

// The largest bodies that are read for these schemes before a signature can be compared.
const COSTLY = { start: startAccepting, perSecond: 50, forgedForEach: 10, forgedBytes: 65_536 }

const FLOODED_BY_FORMS = createForgedTrial({
  ...COSTLY,
  name: 'flooded-by-forms',
  title: 'Oncehook, 50/s good, 500/s forged forms of Twilio of 64 KiB',
  forged: 'twilio',
})

const FLOODED_BY_ITEMS = createForgedTrial({
  ...COSTLY,
  name: 'flooded-by-items',
  title: 'Oncehook, 50/s good, 500/s forged items of Adyen of 64 KiB',
  forged: 'adyen',
})

const FLOODS = [FLOODED, FLOODED_BY_FORMS, FLOODED_BY_ITEMS]

/** Forged deliveries with large bodies, ten for each good one. The worst of the floods counts. */
export const FORGED_ROW: Row = {
  name: 'forged',
  trials: FLOODS,
  goals: [
    {
      what: 'p99 beside ten forged bodies for each good one, worst of three',
      against: 'without the flood',
      figure: (read) => Math.max(...FLOODS.map((flood) => read(flood, 'p99Ms') / read(flood, 'calmP99Ms'))),
      ...atMost('times', 3),
      limitedBy: 'reading and hashing: a good delivery waits behind those that arrived with it',
    },
  ],
}
