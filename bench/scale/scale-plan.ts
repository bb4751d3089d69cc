import { createArgumentReader } from '../read-arguments.ts'

/** What a measurement of several processes does. */
export interface ScalePlan {
  /** The events of the backlog that the processes of each row share. */
  readonly events: number
  /** How many processes share the database, one number for each row. */
  readonly processes: readonly number[]
  /** For how long the commands of idle gateways are counted. */
  readonly seconds: number
}

const USAGE =
  'Usage: npm run bench:scale -- [--events <in the backlog>] [--processes <1,2,…>] [--seconds <of an idle gateway>]'

/**
 * Reads the arguments of the command line. Default: 20,000 events; 1, 2, 4 and 8 processes; 20 s.
 * @throws PlanError
 */
export function readScalePlan(args: readonly string[]): ScalePlan {
  const { options, wholeNumber } = createArgumentReader(USAGE)
  const { events, processes, seconds } = options(args, { events: '20000', processes: '1,2,4,8', seconds: '20' })
  return {
    events: wholeNumber(events, { least: 1_000, most: 10_000_000 }),
    processes: processes.split(',').map((one) => wholeNumber(one, { least: 1, most: 64 })),
    seconds: wholeNumber(seconds, { least: 1, most: 3_600 }),
  }
}
