import { createArgumentReader } from '../read-arguments.ts'

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
  const { options, wholeNumber } = createArgumentReader(USAGE)
  const { events, rate, rounds } = options(args, { events: '1000000', rate: '2000', rounds: '5' })
  return {
    events: wholeNumber(events, { least: 20_000, most: 10_000_000 }),
    perSecond: wholeNumber(rate, { least: 0, most: 20_000 }),
    rounds: wholeNumber(rounds, { least: 1, most: 50 }),
  }
}
