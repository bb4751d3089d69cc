import type { Calibration } from './calibrate.ts'

/** Shows whether a measurement had the machine to itself. */
export interface Surroundings {
  readonly calibration: Calibration
  /** Share of all processor time of the machine that went to strangers while it was measured, 0 to 1. */
  readonly foreignShare: number
}

// Beyond these a measurement counts as disturbed.
const QUIET_LIMITS = { foreignShare: 0.05, processor: 1.2, disk: 2.5 } as const

/** Whether a measurement had the machine to itself, as far as one measurement shows: other processes used almost nothing. */
export function isUndisturbed({ foreignShare }: Surroundings): boolean {
  return foreignShare <= QUIET_LIMITS.foreignShare
}

/**
 * Which rounds were quiet: in each measurement of the round strangers took next to nothing, and fixed work took about
 * as long as it did at the best time of this run.
 */
export function quietRounds(rounds: readonly (readonly Surroundings[])[]): boolean[] {
  const all = rounds.flat().map(({ calibration }) => calibration)
  const best = {
    processorMs: Math.min(...all.map(({ processorMs }) => processorMs)),
    diskMs: Math.min(...all.map(({ diskMs }) => diskMs)),
  }
  return rounds.map((round) => round.every((measurement) => isQuiet(measurement, best)))
}

function isQuiet(measurement: Surroundings, best: Calibration): boolean {
  const { calibration } = measurement
  return (
    isUndisturbed(measurement) &&
    calibration.processorMs <= best.processorMs * QUIET_LIMITS.processor &&
    calibration.diskMs <= best.diskMs * QUIET_LIMITS.disk
  )
}
