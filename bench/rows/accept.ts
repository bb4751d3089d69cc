import { startBare } from '../receivers/baselines/bare.ts'
import { startNaive, startNaiveLookingUp } from '../receivers/baselines/naive.ts'
import { startAccepting } from '../receivers/oncehook/oncehook-accepting.ts'
import { atLeast, atMost, type Row, ratio } from '../row.ts'
import { createClosedTrial } from '../trials/closed-trial.ts'
import { createDriverTrial } from '../trials/driver-trial.ts'

/** The baseline for the other trials. */
export const NAIVE = createClosedTrial({
  name: 'naive',
  title: 'Express, stripe, awaited insertOne',
  start: startNaive,
})

/** The gateway alone: it stores and answers every delivery. */
export const ACCEPTING = createClosedTrial({
  name: 'accepting',
  title: 'Oncehook, accepting alone',
  start: startAccepting,
})

const DRIVER = createDriverTrial({
  name: 'driver',
  title: "The driver's insertOne, 64 in flight, no HTTP",
  way: 'one by one',
})

const DRIVER_GROUPS = createDriverTrial({
  name: 'driver-groups',
  title: "The driver's insert commands of 64, no HTTP",
  way: 'in groups',
})

const LOOKING_UP = createClosedTrial({
  name: 'looking-up',
  title: 'The same with a look-up first',
  start: startNaiveLookingUp,
})

const BARE = createClosedTrial({ name: 'bare', title: 'node:http with HMAC, no store', start: startBare })

/** The number of durable accepts per second, and their cost for the database. */
export const ACCEPT_ROW: Row = {
  name: 'accept',
  trials: [NAIVE, DRIVER, ACCEPTING],
  more: [LOOKING_UP, DRIVER_GROUPS, BARE],
  goals: [
    ratio({
      what: 'Durable accepts/s, 128 connections',
      against: 'naive',
      figure: 'perSecond',
      of: ACCEPTING,
      to: NAIVE,
      ...atLeast('times', { target: 3.5, aim: 6 }),
    }),
    ratio({
      what: 'Durable accepts/s, 128 connections',
      against: "the driver's own `insertOne`, 64 in flight, no HTTP",
      figure: 'perSecond',
      of: ACCEPTING,
      to: DRIVER,
      ...atLeast('times', { target: 2.8, aim: 4.5 }),
    }),
    ratio({
      what: '`mongod` CPU per accept',
      against: 'naive',
      figure: 'mongodUs',
      of: ACCEPTING,
      to: NAIVE,
      ...atMost('share', { target: 0.12, aim: 0.08 }),
    }),
  ],
}
