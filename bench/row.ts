import type { Figures, Trial } from './trial.ts'

/** Reads a trial's figure in one round; NaN if the round did not measure it. */
type Reader = (trial: Trial, figure: keyof Figures) => number

/** `times`: a ratio. */
export type Unit = 'times' | 'MiB' | 'ms'

/** The value that a figure must reach. */
export interface Goal {
  readonly what: string
  /** What the figure is compared with. */
  readonly against: string
  /** The figure of one round. */
  readonly figure: (read: Reader) => number
  readonly unit: Unit
  /** Whether more is better (`at least`) or less (`at most`). */
  readonly direction: 'at least' | 'at most'
  readonly target: number
  /** The physical or chosen limit of the figure, as a part of a sentence. */
  readonly limitedBy: string
}

/** One claim of the comparison: the trials that it needs, and the goals for their figures. */
export interface Row {
  /** The name that selects it on the command line. */
  readonly name: string
  readonly trials: readonly Trial[]
  readonly goals: readonly Goal[]
}

/** A goal whose figure must be this high. */
export function atLeast(unit: Unit, target: number): Pick<Goal, 'unit' | 'direction' | 'target'> {
  return { unit, direction: 'at least', target }
}

/** A goal whose figure must be this low. */
export function atMost(unit: Unit, target: number): Pick<Goal, 'unit' | 'direction' | 'target'> {
  return { unit, direction: 'at most', target }
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
