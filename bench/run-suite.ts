import { isUndisturbed, quietRounds } from './measure/quiet-rounds.ts'
import { type Effort, type Measurement, measureRow } from './measure-row.ts'
import { ROWS, type Row } from './rows.ts'
import type { Laboratory } from './subjects/subject.ts'

/** How much is measured. */
export interface SuitePlan {
  readonly effort: Effort
  /** Quiet rounds that are wanted. */
  readonly rounds: number
  /** No round begins later, milliseconds after the start. */
  readonly lastRoundBeginsMs: number
}

/** Every round that was run, each with one measurement of each row. */
export interface SuiteResult {
  readonly rounds: readonly (readonly Measurement[])[]
  /** Which of them were quiet. */
  readonly quiet: readonly boolean[]
  /** Measurements that were disturbed and taken again: their figures do not count, what they lost does. */
  readonly repeated: readonly Measurement[]
}

/** What a suite works with. */
export interface SuiteRun {
  readonly laboratory: Laboratory
  readonly plan: SuitePlan
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const ATTEMPTS = 3

/**
 * Runs rounds, in each of them every row once, so that whatever changes on the machine with time meets all rows alike.
 * A measurement that strangers disturbed is taken again at once, at most twice. Ends when enough rounds were quiet, or
 * when the time for more is over.
 */
export async function runSuite(suite: SuiteRun): Promise<SuiteResult> {
  const { plan } = suite
  const startedAt = performance.now()
  const rounds: Measurement[][] = []
  const repeated: Measurement[] = []
  let quiet: boolean[] = []
  const late = (): boolean => performance.now() - startedAt > plan.lastRoundBeginsMs
  while (rounds.length === 0 || (quiet.filter(Boolean).length < plan.rounds && !late())) {
    const round: Measurement[] = []
    for (const row of ROWS) {
      const attempts = await measureUntilQuiet({ ...suite, row, round: rounds.length + 1, late })
      const last = attempts.pop()
      if (last !== undefined) round.push(last)
      repeated.push(...attempts)
    }
    rounds.push(round)
    quiet = quietRounds(rounds)
  }
  return { rounds, quiet, repeated }
}

interface RowInRound extends SuiteRun {
  readonly row: Row
  readonly round: number
  readonly late: () => boolean
}

async function measureUntilQuiet(given: RowInRound): Promise<Measurement[]> {
  const { laboratory, plan, row, round, signal, say, late } = given
  const attempts: Measurement[] = []
  let again = true
  while (again) {
    signal.throwIfAborted()
    const run = `${row.name}${round}x${attempts.length}`
    const measurement = await measureRow({ laboratory, row, run, effort: plan.effort, signal })
    attempts.push(measurement)
    again = !isUndisturbed(measurement) && attempts.length < ATTEMPTS && !late()
    say(`${describe(round, row.title, measurement)}${again ? '; disturbed, so once more' : ''}`)
  }
  return attempts
}

function describe(round: number, title: string, { acceptsPerSecond, failed, lost }: Measurement): string {
  const failures = Object.entries(failed).map(([how, count]) => `, ${count} ${how}`)
  const missing = lost > 0 ? `, ${lost} acknowledged and not found` : ''
  return `Round ${round}: ${title}: ${Math.round(acceptsPerSecond)}/s${failures.join('')}${missing}`
}
