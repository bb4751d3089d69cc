import { PlanError } from '../plan.ts'
import { createArgumentReader } from '../read-arguments.ts'

/** The parts of a measurement, in their order. */
const SCALE_PARTS = ['claims', 'idle', 'whole', 'in-flight'] as const

/** One part of a measurement. */
type ScalePart = (typeof SCALE_PARTS)[number]

/** What a measurement of several processes does. */
export interface ScalePlan {
  readonly parts: readonly ScalePart[]
  /** The events of the backlog that the processes of each row share. */
  readonly events: number
  /** How many processes share the database, one number for each row. */
  readonly processes: readonly number[]
  /** For how long the commands of idle gateways are counted, and how long each load lasts. */
  readonly seconds: number
  /** Deliveries per second, for all gateways together. Each number of processes gets each rate. */
  readonly rates: readonly number[]
  /** Records that living processes hold. */
  readonly inFlight: number
  /** Measures nothing and prints what the simulation says. */
  readonly simulate: boolean
  /** Stores the measurements for the simulation and the documents. */
  readonly save: boolean
}

const USAGE = `Usage: npm run bench:scale -- [--parts <${SCALE_PARTS.join(',')}>] [--events <in the backlog>]
  [--processes <1,2,…>] [--seconds <of each load>] [--rates <deliveries per second, …>] [--in-flight <records>] [--save]
  [--simulate]`

/**
 * Reads the arguments of the command line. Default: all parts; 20,000 events; 1, 2, 4 and 8 processes; 20 s; 100 and
 * 400 deliveries per second; 100,000 records in process.
 * @throws PlanError
 */
export function readScalePlan(args: readonly string[]): ScalePlan {
  const { options, flag, wholeNumber } = createArgumentReader(USAGE)
  const [measuring, simulate] = flag(args, 'simulate')
  const [others, save] = flag(measuring, 'save')
  const given = options(others, {
    parts: SCALE_PARTS.join(','),
    events: '20000',
    processes: '1,2,4,8',
    seconds: '20',
    rates: '100,400',
    'in-flight': '100000',
  })
  return {
    parts: given.parts.split(',').map(partOf),
    events: wholeNumber(given.events, { least: 1_000, most: 10_000_000 }),
    processes: given.processes.split(',').map((one) => wholeNumber(one, { least: 1, most: 64 })),
    seconds: wholeNumber(given.seconds, { least: 1, most: 3_600 }),
    rates: given.rates.split(',').map((one) => wholeNumber(one, { least: 1, most: 100_000 })),
    inFlight: wholeNumber(given['in-flight'], { least: 1_000, most: 10_000_000 }),
    simulate,
    save,
  }
}

function partOf(text: string): ScalePart {
  const part = SCALE_PARTS.find((one) => one === text)
  if (part === undefined) throw new PlanError(`${USAGE}\n${text || 'Nothing'} is no part`)
  return part
}
