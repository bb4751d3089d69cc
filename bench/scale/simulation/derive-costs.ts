import { medianOf } from '../../measure/statistics.ts'
import type { WholeFigures } from '../whole/measure-whole.ts'
import { fitLine, type Line } from './fit-line.ts'
import type { Measured } from './measured.ts'
import { idlePrimary } from './simulate.ts'

/** What the simulation reckons with. Processor times are microseconds; each line says over what it runs. */
export interface Costs {
  /** Of a gateway for each event, over the commands and calls that it sends for one. */
  readonly gateway: Line
  /** Of fulfilment for each event, over the calls for one. */
  readonly fulfilment: Line
  /** Of MongoDB's primary for each event, over the commands for one. */
  readonly primary: Line
  /** Commands on the database for each batch, besides the insert. */
  readonly commandsPerBatch: number
  /** For how long deliveries collect for one insert, and events for one call, in milliseconds. */
  readonly insertMs: number
  readonly batchMs: number
  /** Of one gateway for each second without an event. */
  readonly idleGateway: number
  /** Of the primary for each second without an event, over the gateways. */
  readonly idlePrimary: Line
  /** Commands of one idle gateway per second. */
  readonly idleCommands: number
  /** Of the primary for one look for dead processes, over the processes that hold records. */
  readonly look: Line
}

/**
 * Assumed, not measured: for how long events collect depends on the processors, the disks and the network more than on
 * the program. An insert took 1 ms on a quiet machine, and 3.8 ms during a backlog (docs/performance.md). A call and the
 * write after it are two waits more.
 */
const COLLECTING = { insertMs: 4, batchMs: 10 }

/**
 * Derives the costs from what was measured with one gateway at several rates, and from idle gateways. Nothing is taken
 * from the points with several gateways, so they can check the simulation.
 */
export function deriveCosts({ whole, idle, inFlight }: Measured): Costs {
  const single = whole.filter(({ gateways }) => gateways === 1)
  const idleGateway = medianOf(idle.map(({ processes, gatewayUs }) => gatewayUs / processes))
  const idleCosts = {
    idlePrimary: fitLine(idle.map(({ processes, mongodUs }) => [processes, mongodUs])),
    look: lookCost(inFlight.repeated),
  }
  const over = (y: (one: WholeFigures) => number, x: (one: WholeFigures) => number): Line =>
    fitLine(single.map((one) => [x(one), y(one)]))
  return {
    gateway: over(({ gatewayUs, perSecond }) => gatewayUs - idleGateway / perSecond, sentForOne),
    fulfilment: over(
      ({ fulfilmentUs }) => fulfilmentUs,
      ({ callBatch }) => 1 / callBatch,
    ),
    primary: over(
      ({ mongodUs, perSecond }) => mongodUs - idlePrimary(idleCosts, 1) / perSecond,
      ({ commands }) => commands,
    ),
    commandsPerBatch: medianOf(
      single.map(({ commands, insertGroup, callBatch }) => (commands - 1 / insertGroup) * callBatch),
    ),
    ...COLLECTING,
    ...idleCosts,
    idleGateway,
    idleCommands: medianOf(idle.map(({ processes, commands }) => commands / processes)),
  }
}

function sentForOne({ insertGroup, callBatch }: Pick<WholeFigures, 'insertGroup' | 'callBatch'>): number {
  return 1 / insertGroup + 1 / callBatch
}

/** A look consists of two commands: who holds records, and which of them are alive. */
function lookCost(repeated: Measured['inFlight']['repeated']): Line {
  const looks = Map.groupBy(
    repeated.filter(({ kind }) => kind === 'holders' || kind === 'owners'),
    ({ owners }) => owners,
  )
  return fitLine([...looks].map(([owners, costs]) => [owners, costs.reduce((sum, { mongodUs }) => sum + mongodUs, 0)]))
}
