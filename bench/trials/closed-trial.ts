import type { Mix } from '../load/signed-deliveries.ts'
import type { Trial } from '../trial.ts'
import { assess } from './assess.ts'
import { type TrialSubject, warmedTrial } from './warmed-trial.ts'

/** A closed load: the receiver, the mix of deliveries, and the number of connections if the effort's does not apply. */
export interface ClosedTrial extends TrialSubject {
  readonly mix?: Mix
  readonly connections?: number
}

// Sign more than can be sent, so that time ends the load; but not many more, because signing takes seconds.
const HEADROOM = 2
const MOST_ON_ONE_CONNECTION = 2_000

/** Measures how many deliveries a second a receiver takes when each connection waits for its answer. */
export function createClosedTrial({ mix = 'unique', connections, ...subject }: ClosedTrial): Trial {
  return warmedTrial(subject, async ({ receiver, drive, warmRate, given: { run, effort } }) => {
    const rate = connections === undefined ? warmRate : Math.min(warmRate, connections * MOST_ON_ONE_CONNECTION)
    // Repetitions are cheaper than the deliveries of the warm-up.
    const headroom = mix === 'repeated' ? HEADROOM * 2 : HEADROOM
    const measured = await drive.load({
      orderPrefix: `${run}-`,
      count: Math.ceil(rate * (effort.measureMs / 1_000) * headroom),
      mix,
      plan: { kind: 'closed', connections: connections ?? effort.connections, forMs: effort.measureMs },
    })
    return await assess(drive, receiver, measured)
  })
}
