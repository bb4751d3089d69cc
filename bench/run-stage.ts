import { calibrate } from './measure/calibrate.ts'
import { isUndisturbed, quietRounds } from './measure/quiet-rounds.ts'
import type { PlannedStage } from './plan.ts'
import type { Laboratory } from './subjects/subject.ts'
import type { Effort, Measurement, Trial } from './trial.ts'

/** Every round of a stage that was run, each with one measurement of each trial. */
export interface StageResult {
  readonly stage: PlannedStage
  readonly rounds: readonly Round[]
  /** Measurements that were disturbed and taken again: their figures do not count, what they lost does. */
  readonly repeated: readonly Measurement[]
}

/** One measurement of each trial. */
export type Round = readonly Measurement[]

/** What a stage works with. */
export interface StageRun {
  readonly laboratory: Laboratory
  readonly stage: PlannedStage
  readonly effort: Effort
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const ATTEMPTS = 3
const SHARE_FOR_REPEATING = 0.25

/**
 * Runs rounds, in each of them every trial once, so that whatever changes on the machine with time meets all trials
 * alike. A measurement that strangers disturbed is taken again at once, at most twice. Ends when enough rounds were
 * quiet, or when another one would go beyond the time of the stage.
 */
export async function runStage(run: StageRun): Promise<StageResult> {
  const { stage } = run
  const startedAt = performance.now()
  const rounds: Measurement[][] = []
  const repeated: Measurement[] = []
  let longestMs = 0
  let repeatingMs = 0
  const hasTime = (): boolean => performance.now() - startedAt + longestMs <= stage.budgetMs
  while (rounds.length === 0 || (quietRounds(rounds).filter(Boolean).length < stage.rounds && hasTime())) {
    const roundAt = performance.now()
    const round: Measurement[] = []
    for (const trial of stage.trials) {
      const trialAt = performance.now()
      const mayRepeat = (): boolean => repeatingMs + performance.now() - trialAt <= stage.budgetMs * SHARE_FOR_REPEATING
      const attempts = await measureUntilQuiet({ ...run, trial, round: rounds.length + 1, mayRepeat })
      repeatingMs += ((performance.now() - trialAt) * (attempts.length - 1)) / attempts.length
      round.push(...attempts.splice(-1))
      repeated.push(...attempts)
    }
    rounds.push(round)
    longestMs = Math.max(longestMs, performance.now() - roundAt)
  }
  return { stage, rounds, repeated }
}

interface TrialInRound extends StageRun {
  readonly trial: Trial
  readonly round: number
  readonly mayRepeat: () => boolean
}

async function measureUntilQuiet(given: TrialInRound): Promise<Measurement[]> {
  const { laboratory, effort, trial, round, signal, say, mayRepeat } = given
  const attempts: Measurement[] = []
  let again = true
  while (again) {
    signal.throwIfAborted()
    const run = `${trial.name}-${round}-${attempts.length}`
    const calibration = await calibrate(laboratory.folder)
    const outcome = await trial.run({ laboratory, run, effort, signal })
    const measurement = { trial: trial.name, calibration, ...outcome }
    attempts.push(measurement)
    again = !isUndisturbed(measurement) && attempts.length < ATTEMPTS && mayRepeat()
    say(`${describe(round, trial.title, measurement)}${again ? '; disturbed, so once more' : ''}`)
  }
  return attempts
}

function describe(round: number, title: string, { figures, failed, lost }: Measurement): string {
  const { perSecond, highestPerSecond, calmP99Ms, p99Ms, residentMib, startMs } = figures
  const parts = [
    ...(perSecond === undefined ? [] : [`${Math.round(perSecond)}/s`]),
    ...(highestPerSecond === undefined ? [] : [`up to ${highestPerSecond}/s`]),
    ...(calmP99Ms === undefined ? [] : [`p99 ${calmP99Ms.toFixed(1)} ms before`]),
    ...(p99Ms === undefined ? [] : [`p99 ${p99Ms.toFixed(1)} ms`]),
    ...(residentMib === undefined ? [] : [`${Math.round(residentMib)} MiB`]),
    ...(startMs === undefined ? [] : [`${Math.round(startMs)} ms`]),
    ...Object.entries(failed).map(([how, count]) => `${count} ${how}`),
    ...(lost > 0 ? [`${lost} acknowledged and not found`] : []),
  ]
  return `Round ${round}: ${title}: ${parts.join(', ')}`
}
