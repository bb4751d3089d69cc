import type { Calibration } from './measure/calibrate.ts'
import { quietRounds } from './measure/quiet-rounds.ts'
import type { Phase } from './plan.ts'
import type { Setup } from './receivers/receiver.ts'
import type { Effort, Measurement } from './trial.ts'

/** Every round of a phase that was run, each with one measurement of each trial. */
export interface PhaseResult {
  readonly phase: Phase
  readonly rounds: readonly (readonly Measurement[])[]
  /** Trials that could not be completed, one sentence each. */
  readonly broken: readonly string[]
}

/** What a phase works with. */
export interface PhaseRun {
  readonly setup: Setup
  readonly phase: Phase
  readonly effort: Effort
  /** Does fixed work in a folder and measures how long it took. */
  readonly calibrate: (folder: string) => Promise<Calibration>
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/**
 * Runs every trial once per round, so that changes of the machine over time affect all trials equally. It ends when enough
 * rounds were quiet, or after twice as many rounds. A trial that fails is missing from its round, and the others continue.
 */
export async function runPhase({ phase, setup, effort, calibrate, say, signal }: PhaseRun): Promise<PhaseResult> {
  const rounds: Measurement[][] = []
  const broken: string[] = []
  const isEnough = (): boolean =>
    quietRounds(rounds).filter(Boolean).length >= phase.rounds || rounds.length >= phase.rounds * 2
  while (!isEnough()) {
    const round: Measurement[] = []
    for (const trial of phase.trials) {
      const name = `Round ${rounds.length + 1}: ${trial.title}`
      try {
        const calibration = await calibrate(setup.folder)
        const run = `${trial.name}-${rounds.length + 1}`
        const outcome = await trial.run({ setup, run, effort, signal })
        round.push({ trial: trial.name, calibration, ...outcome })
        say(`${name}: ${describe(outcome)}`)
      } catch (error) {
        signal.throwIfAborted()
        broken.push(`${name}: ${error instanceof Error ? error.message : error}`)
        say(`${broken.at(-1)}`)
      }
      signal.throwIfAborted()
    }
    rounds.push(round)
  }
  return { phase, rounds, broken }
}

function describe({ figures, failed, lost }: Pick<Measurement, 'figures' | 'failed' | 'lost'>): string {
  const { perSecond, calmP99Ms, p99Ms, residentMib, startMs } = figures
  const parts = [
    ...(perSecond === undefined ? [] : [`${Math.round(perSecond)}/s`]),
    ...(calmP99Ms === undefined ? [] : [`p99 ${calmP99Ms.toFixed(1)} ms before`]),
    ...(p99Ms === undefined ? [] : [`p99 ${p99Ms.toFixed(1)} ms`]),
    ...(residentMib === undefined ? [] : [`${Math.round(residentMib)} MiB`]),
    ...(startMs === undefined ? [] : [`start ${Math.round(startMs)} ms`]),
    ...Object.entries(failed).map(([how, count]) => `${count} ${how}`),
    ...(lost > 0 ? [`${lost} acknowledged and not found`] : []),
  ]
  return parts.join(', ')
}
