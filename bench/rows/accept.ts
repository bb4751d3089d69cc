import { startNaive, startNaivePaying } from '../receivers/baselines/baselines.ts'
import { startAccepting, startPaying } from '../receivers/oncehook/oncehook.ts'
import { atLeast, atMost, type Row, ratio } from '../row.ts'
import { createClosedTrial } from '../trials/load-trials.ts'
import { createMemoryTrial } from '../trials/memory-trial.ts'

const NAIVE = createClosedTrial({ name: 'naive', title: 'Express, stripe, awaited insertOne', start: startNaive })
const ACCEPTING = createClosedTrial({ name: 'accepting', title: 'Oncehook, accepting alone', start: startAccepting })

/** The number of durable accepts per second, and their cost for the database. */
export const ACCEPT_ROW: Row = {
  name: 'accept',
  trials: [NAIVE, ACCEPTING],
  goals: [
    ratio({
      ...{ what: 'Durable accepts/s, 128 connections', against: 'naive' },
      ...{ figure: 'perSecond', of: ACCEPTING, to: NAIVE, ...atLeast('times', 3.5) },
    }),
    ratio({
      ...{ what: '`mongod` CPU per accept', against: 'naive' },
      ...{ figure: 'mongodUs', of: ACCEPTING, to: NAIVE, ...atMost('share', 0.12) },
    }),
  ],
}

const NAIVE_REPEATED = createClosedTrial({
  ...{ name: 'naive-repeated', title: 'naive, 95 % duplicates', start: startNaive, mix: 'repeated' },
})
const REPEATED = createClosedTrial({
  ...{ name: 'oncehook-repeated', title: 'Oncehook, 95 % duplicates', start: startAccepting, mix: 'repeated' },
})

/** Storms of repetitions, each signed again: 19 of 20 deliveries report an event that was sent before. */
export const DUPLICATES_ROW: Row = {
  name: 'duplicates',
  trials: [NAIVE_REPEATED, REPEATED],
  goals: [
    ratio({
      ...{ what: '95 % duplicates, accepts/s', against: 'naive with the same' },
      ...{ figure: 'perSecond', of: REPEATED, to: NAIVE_REPEATED, ...atLeast('times', 4.5) },
    }),
  ],
}

const PAYING = createClosedTrial({ name: 'paying', title: 'Oncehook, accept, apply, settle', start: startPaying })
const NAIVE_PAYING = createClosedTrial({
  ...{ name: 'naive-paying', title: 'Express, stripe: insert, pay, receipt, mark', start: startNaivePaying },
})

/** From delivery to payment: the clock stops when every event is settled and its order is paid. */
export const SETTLE_ROW: Row = {
  name: 'settle',
  trials: [NAIVE, NAIVE_PAYING, PAYING],
  goals: [
    ratio({
      ...{ what: 'Accept, apply and settle together, events/s', against: "naive's accepts alone" },
      ...{ figure: 'perSecond', of: PAYING, to: NAIVE, ...atLeast('times', 1.5) },
    }),
    ratio({
      what: 'Accept, apply and settle together, events/s',
      against: 'naive that pays the order before it answers',
      ...{ figure: 'perSecond', of: PAYING, to: NAIVE_PAYING, ...atLeast('times', 1.5) },
    }),
  ],
}

const one = { connections: 1 }
const NAIVE_ONE = createClosedTrial({ name: 'naive-one', title: 'naive, one connection', start: startNaive, ...one })
const ONE = createClosedTrial({
  ...{ name: 'oncehook-one', title: 'Oncehook, one connection', start: startAccepting, ...one },
})

/** How long one delivery waits when it is alone. It waits mostly for the disk. */
export const ONE_CONNECTION_ROW: Row = {
  name: 'one-connection',
  trials: [NAIVE_ONE, ONE],
  goals: [
    ratio({
      ...{ what: 'p50 with one connection', against: 'naive' },
      ...{ figure: 'p50Ms', of: ONE, to: NAIVE_ONE, ...atMost('times', 1) },
    }),
  ],
}

const MANY = createMemoryTrial({
  ...{ name: 'after-a-million', title: 'Oncehook after very many accepts', start: startAccepting },
})

/** Whether the gateway's memory grows with the number of accepts. The short form checks after 50 thousand. */
export const MEMORY_ROW: Row = {
  name: 'memory',
  trials: [MANY],
  goals: [
    {
      ...{ what: 'Memory of the gateway after 1 million accepts', against: 'absolute' },
      figure: (read) => read(MANY, 'residentMib'),
      ...atMost('MiB', 200),
    },
  ],
}
