import type { StartSubject } from '../subjects/subject.ts'
import type { Trial } from '../trial.ts'
import { assess } from './assess.ts'
import { startDrive, warmUp } from './drive.ts'

/** An open load of one rate. */
export interface OpenTrial {
  readonly name: string
  readonly title: string
  readonly start: StartSubject
  readonly perSecond: number
}

const GRACE_MS = 15_000

/** Measures how long deliveries wait when they come at fixed instants, whatever becomes of those before. */
export function createOpenTrial({ name, title, start, perSecond }: OpenTrial): Trial {
  return {
    name,
    title,
    async run(given) {
      const { laboratory, run, effort, signal } = given
      await using subject = await start(laboratory, run)
      using drive = await startDrive({ laboratory, subject, signal })
      await warmUp(drive, given)
      const measured = await drive.load({
        orderPrefix: `${run}-`,
        count: Math.ceil(perSecond * (effort.measureMs / 1_000)),
        plan: { kind: 'open', connections: effort.connections, perSecond, graceMs: GRACE_MS },
      })
      return await assess(drive, subject, measured)
    },
  }
}
