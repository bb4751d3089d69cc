import { startBare, startNaive, startNaivePaying } from '../receivers/baselines/baselines.ts'
import { startAccepting, startPaying } from '../receivers/oncehook/oncehook.ts'
import { atLeast, atMost, type Row, ratio } from '../row.ts'
import { createGroupedInsertsTrial } from '../trials/grouped-inserts-trial.ts'
import { createClosedTrial, createOpenTrial } from '../trials/load-trials.ts'
import { createMemoryTrial } from '../trials/memory-trial.ts'

const NAIVE = createClosedTrial({ name: 'naive', title: 'Express, stripe, awaited insertOne', start: startNaive })
const ACCEPTING = createClosedTrial({ name: 'accepting', title: 'Oncehook, accepting alone', start: startAccepting })

const BARE = createClosedTrial({ name: 'bare', title: '`node:http` with an HMAC, no store', start: startBare })
const GROUPED = createGroupedInsertsTrial({
  ...{ name: 'grouped', title: 'The driver, inserts of 64 records, no HTTP' },
})

/** The number of durable accepts per second. The last two trials show the limits of HTTP and of the store. */
export const ACCEPT_ROW: Row = {
  name: 'accept',
  trials: [NAIVE, ACCEPTING, BARE, GROUPED],
  goals: [
    ratio({
      ...{ what: 'Durable accepts/s, 128 connections', against: 'naive' },
      ...{ figure: 'perSecond', of: ACCEPTING, to: NAIVE, ...atLeast('times', 3.5) },
      limitedBy: 'the one thread of the gateway; sender and `mongod` share its two cores',
    }),
  ],
}

const rate = { perSecond: 2_000 }
const NAIVE_STEADY = createOpenTrial({ name: 'naive-steady', title: 'naive at 2,000/s', start: startNaive, ...rate })
const STEADY = createOpenTrial({ name: 'steady', title: 'Oncehook at 2,000/s', start: startAccepting, ...rate })

/** How long deliveries wait at a rate that both can take. */
export const STEADY_ROW: Row = {
  name: 'steady',
  trials: [NAIVE_STEADY, STEADY],
  goals: [
    ratio({
      ...{ what: 'p99 at 2,000/s, sent by schedule', against: 'naive' },
      ...{ figure: 'p99Ms', of: STEADY, to: NAIVE_STEADY, ...atMost('times', 0.3) },
      limitedBy: 'the journal sync of the disk, for which both wait',
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
      limitedBy: 'HTTP, the HMAC and the parsing of JSON, which a duplicate needs too',
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
      limitedBy: 'the processor time of all processes; naive updates no order, receipt or event',
    }),
    ratio({
      what: 'Accept, apply and settle together, events/s',
      against: 'naive that pays the order before it answers',
      ...{ figure: 'perSecond', of: PAYING, to: NAIVE_PAYING, ...atLeast('times', 1.5) },
      limitedBy: 'the same',
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
      limitedBy: 'the journal sync, then a record with more indexes than naive has',
    }),
  ],
}

const MANY = createMemoryTrial({
  ...{ name: 'after-a-million', title: 'Oncehook after very many accepts', start: startAccepting },
})

/** What changes with the number of accepts. The short form looks after 50 thousand. */
export const MEMORY_ROW: Row = {
  name: 'memory',
  trials: [MANY],
  goals: [
    {
      ...{ what: 'Memory of the gateway after 1 million accepts', against: 'absolute' },
      figure: (read) => read(MANY, 'residentMib'),
      ...atMost('MiB', 200),
      limitedBy: 'the heap of V8, the ids of acknowledged events, and bodies under way',
    },
    {
      ...{ what: 'Accepts/s with a million stored', against: 'with the first 100,000' },
      figure: (read) => read(MANY, 'perSecond') / read(MANY, 'firstPerSecond'),
      ...atLeast('times', 0.9),
      limitedBy: 'the unique index: each random id changes another page',
    },
  ],
}
