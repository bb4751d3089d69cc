import { atLeast, atMost, ratio, row } from '../row.ts'
import { createCatchUpTrial } from '../trials/catch-up-trial.ts'
import { createSingleCallsTrial } from '../trials/single-calls-trial.ts'

const SINGLE_CALLS = createSingleCallsTrial({
  name: 'single-calls',
  title: 'one tRPC call per event, 16 in flight',
  inFlight: 16,
})

const CATCHING_UP = createCatchUpTrial({
  name: 'catching-up',
  title: 'Oncehook catching up while it accepts 500/s',
  perSecond: 500,
})

/** What happens to events that waited while fulfilment was unavailable. */
export const CATCH_UP_ROW = row(
  'catch-up',
  [SINGLE_CALLS, CATCHING_UP],
  ratio({
    what: 'Catch-up after an outage while it accepts 500/s, events/s',
    against: 'one tRPC call per event, 16 in flight',
    figure: 'perSecond',
    of: CATCHING_UP,
    to: SINGLE_CALLS,
    ...atLeast('times', { target: 4, aim: 8 }),
  }),
  {
    what: 'Accept p99 at 500/s during that catch-up',
    against: 'before it, fulfilment away',
    figure: (read) => read(CATCHING_UP, 'p99Ms') / read(CATCHING_UP, 'calmP99Ms'),
    ...atMost('times', { target: 2, aim: 1.3 }),
  },
)
