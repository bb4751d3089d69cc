import type { Calibration } from './measure/calibrate.ts'
import { isUndisturbed, quietRounds } from './measure/quiet-rounds.ts'
import type { PlannedPhase } from './plan.ts'
import type { Setup } from './receivers/receiver.ts'
import type { Effort, Measurement, Trial } from './trial.ts'

/** Every round of a phase that was run, each with one measurement of each trial. */
export interface PhaseResult {
  readonly phase: PlannedPhase
  readonly rounds: readonly Round[]
  /** Measurements that were disturbed and repeated. Their figures do not count, but the events that they lost do. */
  readonly repeated: readonly Measurement[]
  /** Trials that could not be completed, one sentence each. */
  readonly broken: readonly string[]
}

/** One measurement of each trial. */
export type Round = readonly Measurement[]

/** What a phase works with. */
export interface PhaseRun {
  readonly setup: Setup
  readonly phase: PlannedPhase
  readonly effort: Effort
  /** Does fixed work in a folder and measures how long it took. */
  readonly calibrate: (folder: string) => Promise<Calibration>
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const ATTEMPTS = 3
const SHARE_FOR_REPEATING = 0.25

/**
 * Runs every trial once per round, so that changes of the machine over time affect all trials equally. A measurement
 * that unrelated processes disturbed is repeated immediately, at most twice. The phase ends when enough rounds were
 * quiet, or when another round would exceed the time of the phase. A trial that fails is missing from its round, and
 * the others continue.
 */
export async function runPhase(run: PhaseRun): Promise<PhaseResult> {
  const { phase } = run
  const startedAt = performance.now()
  const rounds: Measurement[][] = []
  const repeated: Measurement[] = []
  const broken: string[] = []
  let lastMs = 0
  let repeatingMs = 0
  const hasTime = (): boolean => performance.now() - startedAt + lastMs <= phase.budgetMs
  while (rounds.length === 0 || (quietRounds(rounds).filter(Boolean).length < phase.rounds && hasTime())) {
    const roundAt = performance.now()
    const round: Measurement[] = []
    for (const trial of phase.trials) {
      const trialAt = performance.now()
      const mayRepeat = (): boolean => repeatingMs + performance.now() - trialAt <= phase.budgetMs * SHARE_FOR_REPEATING
      const attempts = await measureUntilQuiet({ ...run, trial, round: rounds.length + 1, mayRepeat, broken })
      repeatingMs += ((performance.now() - trialAt) * Math.max(0, attempts.length - 1)) / (attempts.length || 1)
      round.push(...attempts.splice(-1))
      repeated.push(...attempts)
    }
    rounds.push(round)
    lastMs = performance.now() - roundAt
  }
  return { phase, rounds, repeated, broken }
}

interface TrialInRound extends PhaseRun {
  readonly trial: Trial
  readonly round: number
  readonly mayRepeat: () => boolean
  /** Failures are added here. */
  readonly broken: string[]
}

async function measureUntilQuiet(given: TrialInRound): Promise<Measurement[]> {
  const { trial, round, signal, say, mayRepeat, broken } = given
  const attempts: Measurement[] = []
  let again = true
  while (again) {
    signal.throwIfAborted()
    try {
      const measurement = await measure(given, `${trial.name}-${round}-${attempts.length}`)
      attempts.push(measurement)
      again = !isUndisturbed(measurement) && attempts.length < ATTEMPTS && mayRepeat()
      say(`${describe(round, trial.title, measurement)}${again ? '; disturbed, so once more' : ''}`)
    } catch (error) {
      signal.throwIfAborted()
      again = false
      broken.push(`Round ${round}: ${trial.title}: ${error instanceof Error ? error.message : error}`)
      say(`${broken.at(-1)}`)
    }
  }
  return attempts
}

async function measure({ setup, effort, trial, calibrate, signal }: TrialInRound, run: string): Promise<Measurement> {
  const calibration = await calibrate(setup.folder)
  return { trial: trial.name, calibration, ...(await trial.run({ setup, run, effort, signal })) }
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
