import { atLeast, atMost, type Row, ratio } from '../row.ts'
import { createCatchUpTrial } from '../trials/catch-up-trial.ts'
import { createSingleCallsTrial } from '../trials/single-calls-trial.ts'
import { createStartTrial } from '../trials/start-trial.ts'

const SINGLE_CALLS = createSingleCallsTrial({
  ...{ name: 'single-calls', title: 'One tRPC call per event, 16 in flight', inFlight: 16 },
})
const CATCHING_UP = createCatchUpTrial({
  ...{ name: 'catching-up', title: 'Oncehook, catching up while it accepts 500/s', perSecond: 500 },
})

/** What happens to events that waited while fulfilment was away. */
export const CATCH_UP_ROW: Row = {
  name: 'catch-up',
  trials: [SINGLE_CALLS, CATCHING_UP],
  goals: [
    ratio({
      ...{ what: 'Catch-up after an outage while it accepts 500/s, events/s' },
      ...{ against: 'one tRPC call per event, 16 in flight' },
      ...{ figure: 'perSecond', of: CATCHING_UP, to: SINGLE_CALLS, ...atLeast('times', 5) },
      limitedBy: 'the processor time of all processes on two cores',
    }),
    {
      ...{ what: 'p99 of deliveries during that catch-up', against: 'before it' },
      figure: (read) => read(CATCHING_UP, 'p99Ms') / read(CATCHING_UP, 'calmP99Ms'),
      ...atMost('times', 2),
      limitedBy: 'the two cores, which deliveries and catch-up share',
    },
  ],
}

const STARTING = createStartTrial({ name: 'start', title: 'Oncehook, start to its first 200' })

/** How long a provider is refused while a gateway is replaced. */
export const START_ROW: Row = {
  name: 'start',
  trials: [STARTING],
  goals: [
    {
      ...{ what: 'From the start of the gateway to its first 200', against: 'absolute' },
      figure: (read) => read(STARTING, 'startMs'),
      ...atMost('ms', 1_000),
      limitedBy: 'loading and compiling the code',
    },
  ],
}
