import type { SuiteResult } from './run-suite.ts'
import { type RowSummary, summarize } from './summary.ts'
import { judge, type Verdict } from './targets.ts'

/** What a run says in the end. */
export interface Conclusion {
  readonly rows: readonly RowSummary[]
  readonly verdicts: readonly Verdict[]
  /** Events that were acknowledged and not found afterwards, in all rounds. */
  readonly lost: number
  /** Which rounds count, for the reader. */
  readonly basis: string
}

const FEWEST_QUIET = 3

/** Sums up the quiet rounds, or all where too few were quiet, and compares them with the goals. */
export function conclude({ rounds, quiet, repeated }: SuiteResult, wanted: number): Conclusion {
  const calm = rounds.filter((_, index) => quiet[index])
  const enough = calm.length >= Math.min(FEWEST_QUIET, wanted)
  const rows = summarize(enough ? calm : rounds)
  const basis = enough
    ? `${calm.length} of ${rounds.length} rounds were quiet and count`
    : `The machine was busy with other things: only ${calm.length} of ${rounds.length} rounds were quiet, so all count`
  const lost = [...rounds.flat(), ...repeated].reduce((sum, measurement) => sum + measurement.lost, 0)
  return { rows, verdicts: judge(rows), lost, basis }
}
