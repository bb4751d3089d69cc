import type { CurvePoint, Figures, Trial } from './trial.ts'

/** Reads a trial's figure in one round; NaN if the round did not measure it. */
type Reader = (trial: Trial, figure: keyof Figures) => number

/** Reads a trial's curve in one round; empty if the round did not measure it. */
type CurveReader = (trial: Trial) => readonly CurvePoint[]

/** The value that a figure must reach. */
export interface Goal extends Bound {
  readonly what: string
  /** What the figure is compared with. */
  readonly against: string
  /** The figure of one round. */
  readonly figure: (read: Reader, curveOf: CurveReader) => number
  /** How the figure is shown. */
  readonly unit: Unit
  /** Whether more is better (`at least`) or less (`at most`). */
  readonly direction: 'at least' | 'at most'
}

/** `times` and `share`: ratios, shown with two and three digits. */
export type Unit = 'times' | 'share' | '/s' | 'MiB'

/** One claim of the comparison: the trials that it needs, and the goals for their figures. */
export interface Row {
  /** The name that selects it on the command line. */
  readonly name: string
  readonly trials: readonly Trial[]
  /** Additional trials that no goal needs. The short form leaves them out. */
  readonly more?: readonly Trial[]
  readonly goals: readonly Goal[]
}

/** A row without additional trials. */
export function row(name: string, trials: readonly Trial[], ...goals: readonly Goal[]): Row {
  return { name, trials, goals }
}

/** The bounds of a goal: the target is for now, the aim for later. */
interface Bound {
  readonly target?: number
  readonly aim?: number
}

/** A goal whose figure must be this high. */
export function atLeast(unit: Unit, bound: Bound): Pick<Goal, 'unit' | 'direction' | keyof Bound> {
  return { unit, direction: 'at least', ...bound }
}

/** A goal whose figure must be this low. */
export function atMost(unit: Unit, bound: Bound): Pick<Goal, 'unit' | 'direction' | keyof Bound> {
  return { unit, direction: 'at most', ...bound }
}

/** A goal for a ratio: the same figure of two trials. */
interface RatioGoal extends Omit<Goal, 'figure'> {
  readonly figure: keyof Figures
  readonly of: Trial
  readonly to: Trial
}

/** A goal for the ratio of a figure of one trial to that of another. */
export function ratio({ figure, of, to, ...goal }: RatioGoal): Goal {
  return { ...goal, figure: (read) => read(of, figure) / read(to, figure) }
}
