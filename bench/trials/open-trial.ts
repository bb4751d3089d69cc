import type { Trial } from '../trial.ts'
import { assess } from './assess.ts'
import { type TrialSubject, warmedTrial } from './warmed-trial.ts'

/** An open load of one rate. */
export interface OpenTrial extends TrialSubject {
  readonly perSecond: number
}

const GRACE_MS = 15_000

/** Measures how long deliveries wait when they come at fixed instants, even if earlier ones are late or fail. */
export function createOpenTrial({ perSecond, ...subject }: OpenTrial): Trial {
  return warmedTrial(subject, async ({ receiver, drive, given: { run, effort } }) => {
    const measured = await drive.load({
      orderPrefix: `${run}-`,
      count: Math.ceil(perSecond * (effort.measureMs / 1_000)),
      plan: { kind: 'open', connections: effort.connections, perSecond, graceMs: GRACE_MS },
    })
    return await assess(drive, receiver, measured)
  })
}
