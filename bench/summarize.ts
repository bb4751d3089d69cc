import { quietRounds } from './measure/quiet-rounds.ts'
import { type Spread, spreadOf } from './measure/statistics.ts'
import type { Goal, Row } from './row.ts'
import type { PhaseResult, Round } from './run-phase.ts'
import type { CurvePoint, Figures, Measurement, Trial } from './trial.ts'

/** The result of a goal. */
export interface GoalResult {
  readonly goal: Goal
  /** Over the rounds that count; null if no round measured the figure. */
  readonly value: Spread | null
  readonly verdict: 'aim' | 'reached' | 'missed' | 'not measured'
}

/** The results of a trial over the rounds that count. */
export interface TrialSummary {
  readonly trial: Trial
  readonly figures: Readonly<Partial<Record<keyof Figures, Spread>>>
  /** Medians at each rate, for trials that try several rates. */
  readonly curve: readonly CurvePoint[]
}

/** The summary of a run. */
export interface Summary {
  readonly goals: readonly GoalResult[]
  readonly trials: readonly TrialSummary[]
  /** Events of the whole run that were acknowledged but not found afterwards. */
  readonly lost: number
  /** Trials that could not be completed. */
  readonly broken: readonly string[]
  /** Which rounds count, one sentence per phase. */
  readonly basis: readonly string[]
}

const FEWEST_QUIET = 3

/** Sums up the quiet rounds of each phase, or all if too few were quiet, and compares them with the goals. */
export function summarize(results: readonly PhaseResult[]): Summary {
  const quiet = quietRounds(results.flatMap(({ rounds }) => rounds))
  let taken = 0
  const phases = results.map((result) => {
    const own = quiet.slice(taken, taken + result.rounds.length)
    taken += result.rounds.length
    return { result, ...roundsThatCount(result, own) }
  })
  const measurements = results.flatMap(({ rounds, repeated }) => [...rounds.flat(), ...repeated])
  return {
    goals: phases.flatMap(({ result, rounds }) => result.phase.rows.flatMap((row) => compareRow(row, rounds))),
    trials: phases.flatMap(({ result, rounds }) => result.phase.trials.map((trial) => summarizeTrial(trial, rounds))),
    lost: measurements.reduce((sum, { lost }) => sum + lost, 0),
    broken: results.flatMap(({ broken }) => broken),
    basis: phases.map(({ result, basis }) => `${result.phase.rows.map(({ name }) => name).join(', ')}: ${basis}`),
  }
}

function roundsThatCount({ phase, rounds }: PhaseResult, quiet: readonly boolean[]) {
  const calm = rounds.filter((_, index) => quiet[index])
  if (calm.length >= Math.min(FEWEST_QUIET, phase.rounds, rounds.length))
    return { rounds: calm, basis: `${calm.length} of ${rounds.length} rounds were quiet and count` }
  const basis = `the machine was busy with other things, only ${calm.length} of ${rounds.length} rounds were quiet, so all count`
  return { rounds, basis }
}

function compareRow({ goals }: Row, rounds: readonly Round[]): GoalResult[] {
  return goals.map((goal) => {
    const values = rounds
      .map((round) => {
        const read = (trial: Trial, figure: keyof Figures): number => figureOf(round, trial, figure)
        return goal.figure(read, (trial) => curveOf(round, trial))
      })
      .filter((value) => !Number.isNaN(value))
    const value = values.length === 0 ? null : spreadOf(values)
    return { goal, value, verdict: value === null ? 'not measured' : verdictOf(goal, value.median) }
  })
}

function figureOf(round: Round, { name }: Trial, figure: keyof Figures): number {
  return round.find(({ trial }) => trial === name)?.figures[figure] ?? Number.NaN
}

function curveOf(round: Round, { name }: Trial): readonly CurvePoint[] {
  return round.find(({ trial }) => trial === name)?.curve ?? []
}

function verdictOf({ direction, target, aim }: Goal, value: number): GoalResult['verdict'] {
  const reaches = (bound: number): boolean => (direction === 'at least' ? value >= bound : value <= bound)
  if (aim !== undefined && reaches(aim)) return 'aim'
  return target !== undefined && reaches(target) ? 'reached' : 'missed'
}

function summarizeTrial(trial: Trial, rounds: readonly Round[]): TrialSummary {
  const own = rounds.flat().filter((measurement) => measurement.trial === trial.name)
  const names = new Set(own.flatMap(({ figures }) => Object.keys(figures) as (keyof Figures)[]))
  const entries = [...names].map((name) => {
    const values = own.map(({ figures }) => figures[name]).filter((value) => value !== undefined)
    return [name, spreadOf(values)] as const
  })
  return { trial, figures: Object.fromEntries(entries), curve: summarizeCurve(own) }
}

function summarizeCurve(measurements: readonly Measurement[]): CurvePoint[] {
  const points = Map.groupBy(
    measurements.flatMap(({ curve = [] }) => curve),
    ({ perSecond }) => perSecond,
  )
  return [...points]
    .map(([perSecond, same]) => {
      const median = (figure: (point: CurvePoint) => number): number => spreadOf(same.map(figure)).median
      return {
        perSecond,
        p50Ms: median(({ p50Ms }) => p50Ms),
        p99Ms: median(({ p99Ms }) => p99Ms),
        failed: Math.round(median(({ failed }) => failed)),
      }
    })
    .sort((one, other) => one.perSecond - other.perSecond)
}
