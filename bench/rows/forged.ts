import { startAccepting } from '../receivers/oncehook/oncehook.ts'
import { atMost, type Goal, type Row } from '../row.ts'
import type { Trial } from '../trial.ts'
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

/** Forged deliveries with large bodies, ten for each good one. */
export const FORGED_ROW: Row = {
  name: 'forged',
  trials: [FLOODED, FLOODED_BY_FORMS, FLOODED_BY_ITEMS],
  goals: [
    goalOf(FLOODED, 'Forged 256 KiB bodies, ten to one with good ones: p99 of the good ones'),
    goalOf(FLOODED_BY_FORMS, 'Forged 64 KiB forms of Twilio, ten to one with good ones: p99 of the good ones'),
    goalOf(FLOODED_BY_ITEMS, 'Forged 64 KiB items of Adyen, ten to one with good ones: p99 of the good ones'),
  ],
}

function goalOf(trial: Trial, what: string): Goal {
  return {
    what,
    against: 'without the flood',
    figure: (read) => read(trial, 'p99Ms') / read(trial, 'calmP99Ms'),
    ...atMost('times', 3),
  }
}
