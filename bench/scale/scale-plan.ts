import { parseArgs } from 'node:util'
import { PlanError } from '../plan.ts'

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
  const { events, processes, seconds } = readOptions(args)
  return {
    events: wholeNumber(events, { least: 1_000, most: 10_000_000 }),
    processes: processes.split(',').map((one) => wholeNumber(one, { least: 1, most: 64 })),
    seconds: wholeNumber(seconds, { least: 1, most: 3_600 }),
  }
}

function readOptions(args: readonly string[]) {
  const options = {
    events: { type: 'string', default: '20000' },
    processes: { type: 'string', default: '1,2,4,8' },
    seconds: { type: 'string', default: '20' },
  } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch {
    throw new PlanError(USAGE)
  }
}

function wholeNumber(text: string, { least, most }: { readonly least: number; readonly most: number }): number {
  const value = Number(text)
  if (text === '' || !Number.isInteger(value) || value < least || value > most) {
    throw new PlanError(`${USAGE}\n${text || 'Nothing'} is no whole number from ${least} to ${most}`)
  }
  return value
}
