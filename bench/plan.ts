// What a run of the benchmark does: its rows, how often, and for how long.
import { parseArgs } from 'node:util'
import type { Row } from './row.ts'
import { ACCEPT_ROW, DUPLICATES_ROW, MEMORY_ROW, ONE_CONNECTION_ROW, SETTLE_ROW, STEADY_ROW } from './rows/accept.ts'
import { FORGED_ROW } from './rows/forged.ts'
import { HANDLERS_ROW } from './rows/handlers.ts'
import { CATCH_UP_ROW, START_ROW } from './rows/outage.ts'
import type { Effort, Trial } from './trial.ts'

/** Rows whose trials run in turn, round after round. */
export interface Phase {
  readonly rows: readonly Row[]
  /** Each trial once, in order, even if several rows need it. */
  readonly trials: readonly Trial[]
  /** The number of quiet rounds to measure. */
  readonly rounds: number
}

/** What a run of the benchmark will do. */
export interface Plan {
  readonly effort: Effort
  readonly phases: readonly Phase[]
  /** Whether the figures go into docs/explanation/performance.md. */
  readonly publishes: boolean
}

/** The requested run is not possible. The message says what is possible. */
export class PlanError extends Error {
  override readonly name = 'PlanError'
}

const USAGE =
  'Usage: npm run bench -- [--full] [--rows <names, separated by commas>] [--rounds <quiet rounds>] ' +
  '[--seconds <of each load>] [--publish]; or: npm run bench -- scale'

/** In the order in which they are measured. The short form leaves out those with 0 rounds. */
const PHASES = [
  { rows: [ACCEPT_ROW, STEADY_ROW, DUPLICATES_ROW, SETTLE_ROW, ONE_CONNECTION_ROW], short: 3, full: 5 },
  { rows: [HANDLERS_ROW], short: 0, full: 3 },
  { rows: [CATCH_UP_ROW, START_ROW], short: 0, full: 3 },
  { rows: [FORGED_ROW], short: 0, full: 3 },
  { rows: [MEMORY_ROW], short: 0, full: 1 },
] as const

/** All rows. */
const ROWS: readonly Row[] = PHASES.flatMap(({ rows }) => rows)

/**
 * Reads the arguments of the command line. Rows that are named run even if the short form leaves them out.
 * @throws PlanError
 */
export function readPlan(args: readonly string[]): Plan {
  const { full = false, publish = false, rows, rounds, seconds = 2.5 } = readOptions(args)
  if (publish && !(full && rows === undefined)) {
    throw new PlanError('Only figures of all rows in full are published: npm run bench -- --full --publish')
  }
  const known = ROWS.map(({ name }) => name)
  const wanted = rows ?? known
  const unknown = wanted.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new PlanError(`There is no row ${unknown.join(', ')}; rows: ${known.join(', ')}`)
  const phases = PHASES.map((phase) => {
    const chosen = phase.rows.filter(({ name }) => wanted.includes(name))
    const usual = full ? phase.full : phase.short || (rows === undefined ? 0 : 1)
    const trials = [...new Set(chosen.flatMap((row) => row.trials))]
    return { rows: chosen, trials, rounds: usual === 0 ? 0 : (rounds ?? usual) }
  })
  // V8 still compiles in the first seconds under load. Without a warm-up, a row would measure the amount of code.
  const amounts = full ? { accepts: 1_000_000, backlog: 20_000 } : { accepts: 50_000, backlog: 5_000 }
  const effort = { connections: 128, warmUpMs: 6_000, measureMs: seconds * 1_000, ...amounts }
  return { effort, phases: phases.filter((phase) => phase.trials.length * phase.rounds > 0), publishes: publish }
}

function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const options = { full: flag, publish: flag, rows: text, rounds: text, seconds: text } as const
  try {
    const { rows, rounds, seconds, ...flags } = parseArgs({ args: [...args], options }).values
    const count = positive(rounds)
    if (!Number.isInteger(count ?? 1)) throw new RangeError()
    return { ...flags, rows: rows?.split(','), rounds: count, seconds: positive(seconds) }
  } catch {
    throw new PlanError(USAGE)
  }
}

function positive(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!(Number(text) > 0 && Number(text) <= 100)) throw new RangeError()
  return Number(text)
}
