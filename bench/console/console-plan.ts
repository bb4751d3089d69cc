import { parseArgs } from 'node:util'
import { PlanError } from '../plan.ts'

/** What a measurement of the operator's page does. */
export interface ConsolePlan {
  /** Stored before the page is opened. */
  readonly events: number
  /** Deliveries a second while it is open. 0: none. */
  readonly perSecond: number
  /** How often the page is opened and everything is measured. */
  readonly rounds: number
}

const USAGE =
  'Usage: npm run bench:console -- [--events <stored before>] [--rate <new ones a second>] [--rounds <how often>]'

/**
 * Reads the arguments of the command line. Default: 1,000,000 events, 2,000 a second, 5 rounds.
 * @throws PlanError
 */
export function readConsolePlan(args: readonly string[]): ConsolePlan {
  const { events, rate, rounds } = readOptions(args)
  return {
    events: wholeNumber(events, { least: 20_000, most: 10_000_000 }),
    perSecond: wholeNumber(rate, { least: 0, most: 20_000 }),
    rounds: wholeNumber(rounds, { least: 1, most: 50 }),
  }
}

function readOptions(args: readonly string[]) {
  const options = {
    events: { type: 'string', default: '1000000' },
    rate: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '5' },
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
