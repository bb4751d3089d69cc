import { quietRounds } from './measure/quiet-rounds.ts'
import { type Effort, type Measurement, measureRow } from './measure-row.ts'
import { ROWS } from './rows.ts'
import type { Laboratory } from './subjects/subject.ts'

/** How much is measured. */
export interface SuitePlan {
  readonly effort: Effort
  /** Quiet rounds that are wanted. */
  readonly rounds: number
  /** No round begins later, milliseconds after the start. */
  readonly lastRoundBeginsMs: number
}

/** Every round that was run, each with all rows. */
export interface SuiteResult {
  readonly rounds: readonly (readonly Measurement[])[]
  /** Which of them were quiet. */
  readonly quiet: readonly boolean[]
}

/** What a suite works with. */
export interface SuiteRun {
  readonly laboratory: Laboratory
  readonly plan: SuitePlan
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/**
 * Runs rounds, in each of them every row once, so that whatever changes on the machine with time meets all rows alike.
 * It stops when enough rounds were quiet, or when the time for more is over.
 */
export async function runSuite({ laboratory, plan, say, signal }: SuiteRun): Promise<SuiteResult> {
  const startedAt = performance.now()
  const rounds: Measurement[][] = []
  let quiet: boolean[] = []
  const enough = (): boolean => quiet.filter(Boolean).length >= plan.rounds
  const late = (): boolean => performance.now() - startedAt > plan.lastRoundBeginsMs
  while (rounds.length === 0 || !(enough() || late())) {
    const round: Measurement[] = []
    for (const row of ROWS) {
      signal.throwIfAborted()
      const run = `r${rounds.length}${row.name}`
      const measurement = await measureRow({ laboratory, row, run, effort: plan.effort, signal })
      round.push(measurement)
      say(describe(rounds.length + 1, row.title, measurement))
    }
    rounds.push(round)
    quiet = quietRounds(rounds)
  }
  return { rounds, quiet }
}

function describe(round: number, title: string, { acceptsPerSecond, failed, lost }: Measurement): string {
  const failures = Object.entries(failed).map(([how, count]) => `, ${count} ${how}`)
  const missing = lost > 0 ? `, ${lost} acknowledged and not found` : ''
  return `Round ${round}: ${title}: ${Math.round(acceptsPerSecond)}/s${failures.join('')}${missing}`
}
