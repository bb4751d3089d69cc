import type { Outcome, Trial } from '../trial.ts'
import { assess } from './assess.ts'
import type { OpenTrial } from './open-trial.ts'
import { warmedTrial } from './warmed-trial.ts'

const GRACE_MS = 15_000

/** Measures how long events take from their arrival until they are settled, when they come at fixed instants. */
export function createWholeWayTrial({ perSecond, ...subject }: OpenTrial): Trial {
  return warmedTrial(subject, async ({ receiver, drive, given: { run, effort } }): Promise<Outcome> => {
    const measured = await drive.load({
      orderPrefix: `${run}-`,
      count: Math.ceil(perSecond * (effort.measureMs / 1_000)),
      plan: { kind: 'open', connections: effort.connections, perSecond, graceMs: GRACE_MS },
    })
    const outcome = await assess(drive, receiver, measured)
    const ways = (await receiver.wholeWayMs?.(measured.report.acknowledged)) ?? []
    return { ...outcome, figures: { ...outcome.figures, p50Ms: quantile(ways, 0.5), p99Ms: quantile(ways, 0.99) } }
  })
}

/** The smallest value that this part of the values does not exceed; NaN if there are none. */
function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN
}
