import { startExpressPostgres } from '../receivers/baselines/baselines.ts'
import {
  acceptingFor,
  startAnswered,
  startAnsweredBesideOthers,
  startAnsweredInBatches,
  startHandledInBatches,
  startHandledInPostgres,
} from '../receivers/handlers/handled.ts'
import { startAccepting } from '../receivers/oncehook/oncehook.ts'
import { atLeast, atMost, type Row, ratio } from '../row.ts'
import { createClosedTrial, createWholeWayTrial } from '../trials/load-trials.ts'

const FULFILMENT = createClosedTrial({
  name: 'accepting-for-fulfilment',
  title: 'Oncehook, accepting alone for fulfilment',
  start: startAccepting,
})

const FIVE = createClosedTrial({
  name: 'accepting-for-five',
  title: 'Oncehook, accepting alone for five handlers',
  start: acceptingFor(5),
})

const ANSWERED = createClosedTrial({
  name: 'answered',
  title: 'Oncehook, to an `https:` handler that only answers',
  start: startAnswered,
})

const HANDLED = createClosedTrial({
  name: 'handled-postgres',
  title: 'Oncehook, to @oncehook/handler on PostgreSQL',
  start: startHandledInPostgres,
})

const ANSWERED_IN_BATCHES = createClosedTrial({
  name: 'answered-batches',
  title: 'The same in batches of 50',
  start: startAnsweredInBatches,
})

const HANDLED_IN_BATCHES = createClosedTrial({
  name: 'handled-batches',
  title: 'Oncehook, to @oncehook/handler on PostgreSQL, in batches of 50',
  start: startHandledInBatches,
})

const EXPRESS = createClosedTrial({
  name: 'express-postgres',
  title: 'Express, stripe, one transaction of PostgreSQL',
  start: startExpressPostgres,
})

// Far less than any machine handles: this is about waiting for others, not about load.
const PER_SECOND = 50

const ALONE = createWholeWayTrial({
  name: 'healthy-alone',
  title: 'A healthy handler alone',
  start: startAnswered,
  perSecond: PER_SECOND,
})

const BESIDE = createWholeWayTrial({
  name: 'healthy-beside',
  title: 'The same beside one that never answers and one that is dead',
  start: startAnsweredBesideOthers,
  perSecond: PER_SECOND,
})

/** What handlers cost: when events are accepted, and on the whole way to the handler's database. */
export const HANDLERS_ROW: Row = {
  name: 'handlers',
  trials: [FULFILMENT, FIVE, EXPRESS, ANSWERED, ANSWERED_IN_BATCHES, HANDLED, HANDLED_IN_BATCHES, ALONE, BESIDE],
  goals: [
    ratio({
      what: 'Durable accepts/s for five handlers, five tasks each',
      against: 'the same for fulfilment, one task',
      figure: 'perSecond',
      of: FIVE,
      to: FULFILMENT,
      ...atLeast('times', 0.5),
      limitedBy: 'five records per event, each with its indexes',
    }),
    ratio({
      what: 'The whole way to an `https:` handler in batches, events/s',
      against: 'a hand-written receiver, Express and `pg`',
      figure: 'perSecond',
      of: ANSWERED_IN_BATCHES,
      to: EXPRESS,
      ...atLeast('times', 0.6),
      limitedBy: 'reading, calling and settling: the receiver that it is compared with does none of them',
    }),
    ratio({
      what: 'The whole way to @oncehook/handler on PostgreSQL in batches, events/s',
      against: 'a hand-written receiver, Express and `pg`',
      figure: 'perSecond',
      of: HANDLED_IN_BATCHES,
      to: EXPRESS,
      ...atLeast('times', 0.8),
      limitedBy: 'the same, and a row that makes each event count once',
    }),
    ratio({
      what: 'p99 until a handler is done, beside a slow and a dead one',
      against: 'the same alone',
      figure: 'p99Ms',
      of: BESIDE,
      to: ALONE,
      ...atMost('times', 1.2),
      limitedBy: 'own connections and turns of each handler',
    }),
  ],
}
