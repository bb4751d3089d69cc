import type { Calibration } from './calibrate.ts'

/** Shows whether a measurement had the machine to itself. */
export interface Surroundings {
  readonly calibration: Calibration
  /** Share of the machine's processor time that unrelated processes used during the measurement, 0 to 1. */
  readonly foreignShare: number
}

// A measurement beyond these limits counts as disturbed.
const QUIET_LIMITS = { foreignShare: 0.05, processor: 1.2, disk: 2.5 } as const

/**
 * Which rounds were quiet. In every measurement of a quiet round, unrelated processes used almost nothing, and the
 * fixed work took about as long as at the best time of this run.
 */
export function quietRounds(rounds: readonly (readonly Surroundings[])[]): boolean[] {
  const all = rounds.flat().map(({ calibration }) => calibration)
  const best = {
    processorMs: Math.min(...all.map(({ processorMs }) => processorMs)),
    diskMs: Math.min(...all.map(({ diskMs }) => diskMs)),
  }
  return rounds.map((round) => round.every((measurement) => isQuiet(measurement, best)))
}

function isQuiet({ calibration, foreignShare }: Surroundings, best: Calibration): boolean {
  return (
    foreignShare <= QUIET_LIMITS.foreignShare &&
    calibration.processorMs <= best.processorMs * QUIET_LIMITS.processor &&
    calibration.diskMs <= best.diskMs * QUIET_LIMITS.disk
  )
}
