import { quietRounds } from './measure/quiet-rounds.ts'
import { type Spread, spreadOf } from './measure/statistics.ts'
import type { Goal } from './row.ts'
import type { PhaseResult } from './run-phase.ts'
import type { Figures, Measurement, Trial } from './trial.ts'

/** The result of a goal. */
interface GoalResult {
  readonly goal: Goal
  /** Over the rounds that count; null if no round measured the figure. */
  readonly value: Spread | null
  readonly verdict: 'reached' | 'missed' | 'not measured'
}

/** The results of a trial over the rounds that count. */
interface TrialSummary {
  readonly trial: Trial
  readonly figures: Readonly<Partial<Record<keyof Figures, Spread>>>
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

/** Sums up the quiet rounds of each phase, or all if too few were quiet, and compares them with the goals. */
export function summarize(results: readonly PhaseResult[]): Summary {
  const phases = results.map(({ phase, rounds }) => {
    const quiet = quietRounds(rounds)
    const calm = rounds.filter((_, index) => quiet[index])
    const names = phase.rows.map(({ name }) => name).join(', ')
    const counted = `${calm.length} of ${rounds.length} rounds were quiet`
    return calm.length >= phase.rounds
      ? { phase, rounds: calm, basis: `${names}: ${counted} and count` }
      : { phase, rounds, basis: `${names}: the machine was busy with other things, only ${counted}, so all count` }
  })
  return {
    goals: phases.flatMap(({ phase, rounds }) =>
      phase.rows.flatMap(({ goals }) => goals.map((goal) => compare(goal, rounds))),
    ),
    trials: phases.flatMap(({ phase, rounds }) => phase.trials.map((trial) => summarizeTrial(trial, rounds))),
    lost: results.flatMap(({ rounds }) => rounds.flat()).reduce((sum, { lost }) => sum + lost, 0),
    broken: results.flatMap(({ broken }) => broken),
    basis: phases.map(({ basis }) => basis),
  }
}

type Rounds = readonly (readonly Measurement[])[]

function compare(goal: Goal, rounds: Rounds): GoalResult {
  const values = rounds
    .map((round) =>
      goal.figure(({ name }, figure) => round.find(({ trial }) => trial === name)?.figures[figure] ?? Number.NaN),
    )
    .filter((value) => !Number.isNaN(value))
  if (values.length === 0) return { goal, value: null, verdict: 'not measured' }
  const value = spreadOf(values)
  const { direction, target } = goal
  const isReached = direction === 'at least' ? value.median >= target : value.median <= target
  return { goal, value, verdict: isReached ? 'reached' : 'missed' }
}

function summarizeTrial(trial: Trial, rounds: Rounds): TrialSummary {
  const own = rounds.flat().filter((measurement) => measurement.trial === trial.name)
  const names = new Set(own.flatMap(({ figures }) => Object.keys(figures) as (keyof Figures)[]))
  const entries = [...names].map((name) => {
    const values = own.map(({ figures }) => figures[name]).filter((value) => value !== undefined)
    return [name, spreadOf(values)] as const
  })
  return { trial, figures: Object.fromEntries(entries) }
}
