import { parseArgs } from 'node:util'
import type { Phase } from './phases.ts'
import type { Row } from './row.ts'
import type { Effort, Trial } from './trial.ts'

/** A phase as it will be run. */
export interface PlannedPhase {
  readonly rows: readonly Row[]
  /** Each trial once, in order, even if several rows need it. */
  readonly trials: readonly Trial[]
  readonly rounds: number
  readonly budgetMs: number
}

/** What a run of the benchmark will do. */
export interface Plan {
  readonly form: 'short' | 'full'
  readonly effort: Effort
  readonly phases: readonly PlannedPhase[]
  /** Whether the figures go into docs/performance.md. */
  readonly publishes: boolean
}

/** The requested run is not possible. The message says what is possible. */
export class PlanError extends Error {
  override readonly name = 'PlanError'
}

const USAGE =
  'Usage: npm run bench -- [--full] [--rows <names, separated by commas>] [--rounds <quiet rounds>] ' +
  '[--seconds <of each load>] [--minutes <at most, about>] [--publish]'

const SHORT: Effort = {
  connections: 128,
  // V8 still compiles in the first seconds under load. Without a warm-up, the row would measure the amount of code.
  warmUpMs: 6_000,
  measureMs: 2_500,
  stepMs: 1_000,
  backlog: 5_000,
  few: 2_000,
  many: 50_000,
  accepts: 50_000,
}

const FULL: Effort = {
  ...SHORT,
  stepMs: 2_000,
  backlog: 50_000,
  few: 10_000,
  many: 1_000_000,
  accepts: 1_000_000,
}

const MINUTE_MS = 60_000

/**
 * Reads the arguments of the command line. Rows that are named run even if the short form leaves them out.
 * @throws PlanError
 */
export function readPlan(args: readonly string[], phases: readonly Phase[]): Plan {
  const { full, publishes, rows, rounds, seconds, minutes } = readOptions(args)
  if (publishes && !full)
    throw new PlanError('Only figures of the full form are published: npm run bench:full -- --publish')
  const form = full ? 'full' : 'short'
  const known = phases.flatMap((phase) => phase.rows.map(({ name }) => name))
  const wanted = rows?.split(',') ?? known
  const unknown = wanted.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new PlanError(`There is no row ${unknown.join(', ')}; rows: ${known.join(', ')}`)
  const planned = phases
    .map((phase) => planPhase(phase, { form, wanted, named: rows !== undefined, rounds }))
    .filter((phase) => phase.rows.length > 0 && phase.rounds > 0)
  const effort = { ...(full ? FULL : SHORT), ...(seconds === undefined ? {} : { measureMs: seconds * 1_000 }) }
  return { form, effort, phases: withinMinutes(planned, minutes), publishes }
}

/** Notes for readers of the figures, if the effort is less than the goals assume. */
export function effortNotes({ form, effort }: Plan): string[] {
  if (form === 'full') return []
  const { backlog, few, many, accepts } = effort
  const [waiting, stored, before, taken] = [backlog, many, few, accepts].map((count) => count.toLocaleString('en'))
  return [
    `short form: ${waiting} events wait, ${stored} records stored against ${before}, memory after ${taken} accepts`,
  ]
}

function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const options = { full: flag, publish: flag, rows: text, rounds: text, seconds: text, minutes: text } as const
  const { values } = parseOrExplain(() => parseArgs({ args: [...args], options }))
  return {
    full: values.full ?? false,
    publishes: values.publish ?? false,
    rows: values.rows,
    rounds: positive(values.rounds, { most: 100, whole: true }),
    seconds: positive(values.seconds, { most: 60, whole: false }),
    minutes: positive(values.minutes, { most: 600, whole: false }),
  }
}

function parseOrExplain<T>(parse: () => T): T {
  try {
    return parse()
  } catch {
    throw new PlanError(USAGE)
  }
}

function positive(text: string | undefined, { most, whole }: { most: number; whole: boolean }): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!(value > 0 && value <= most) || (whole && !Number.isInteger(value))) throw new PlanError(USAGE)
  return value
}

interface Wishes {
  readonly form: 'short' | 'full'
  readonly wanted: readonly string[]
  /** Whether the arguments name rows. */
  readonly named: boolean
  readonly rounds: number | undefined
}

function planPhase(phase: Phase, { form, wanted, named, rounds }: Wishes): PlannedPhase {
  const rows = phase.rows.filter(({ name }) => wanted.includes(name))
  const withMore = form === 'full' || named
  const trials = rows.flatMap((row) => [...row.trials, ...(withMore ? (row.more ?? []) : [])])
  const usual = phase.rounds[form] === 0 && named ? 1 : phase.rounds[form]
  return {
    rows,
    trials: [...new Set(trials)],
    rounds: usual === 0 ? 0 : (rounds ?? usual),
    budgetMs: phase.minutes[form] * MINUTE_MS,
  }
}

function withinMinutes(phases: readonly PlannedPhase[], minutes: number | undefined): readonly PlannedPhase[] {
  if (minutes === undefined) return phases
  const all = phases.reduce((sum, { budgetMs }) => sum + budgetMs, 0)
  return phases.map((phase) => ({ ...phase, budgetMs: (phase.budgetMs / all) * minutes * MINUTE_MS }))
}
