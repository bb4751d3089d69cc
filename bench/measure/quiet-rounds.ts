import type { Calibration } from './calibrate.ts'
import { medianOf } from './statistics.ts'

/** What tells whether a measurement had the machine to itself. */
export interface Surroundings {
  readonly calibration: Calibration
  /** Share of all processor time of the machine that went to strangers while it was measured, 0 to 1. */
  readonly foreignShare: number
}

// Beyond these a measurement counts as disturbed.
const QUIET_LIMITS = { foreignShare: 0.05, processor: 1.2, disk: 2.5 } as const

/**
 * Which rounds were quiet: in each measurement of the round strangers took next to nothing, and the same fixed work
 * took about as long as it usually did in this run.
 */
export function quietRounds(rounds: readonly (readonly Surroundings[])[]): boolean[] {
  const all = rounds.flat().map(({ calibration }) => calibration)
  const usual = {
    processorMs: medianOf(all.map(({ processorMs }) => processorMs)),
    diskMs: medianOf(all.map(({ diskMs }) => diskMs)),
  }
  return rounds.map((round) => round.every((measurement) => isQuiet(measurement, usual)))
}

function isQuiet({ calibration, foreignShare }: Surroundings, usual: Calibration): boolean {
  return (
    foreignShare <= QUIET_LIMITS.foreignShare &&
    calibration.processorMs <= usual.processorMs * QUIET_LIMITS.processor &&
    calibration.diskMs <= usual.diskMs * QUIET_LIMITS.disk
  )
}
