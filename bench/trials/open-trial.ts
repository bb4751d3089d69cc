import type { StartReceiver } from '../receivers/receiver.ts'
import type { Trial } from '../trial.ts'
import { assess } from './assess.ts'
import { startDrive, warmUp } from './drive.ts'

/** An open load of one rate. */
export interface OpenTrial {
  readonly name: string
  readonly title: string
  readonly start: StartReceiver
  readonly perSecond: number
}

const GRACE_MS = 15_000

/** Measures how long deliveries wait when they come at fixed instants, whatever becomes of those before. */
export function createOpenTrial({ name, title, start, perSecond }: OpenTrial): Trial {
  return {
    name,
    title,
    async run(given) {
      const { setup, run, effort, signal } = given
      await using receiver = await start(setup, run)
      using drive = await startDrive({ setup, receiver, signal })
      await warmUp(drive, given)
      const measured = await drive.load({
        orderPrefix: `${run}-`,
        count: Math.ceil(perSecond * (effort.measureMs / 1_000)),
        plan: { kind: 'open', connections: effort.connections, perSecond, graceMs: GRACE_MS },
      })
      return await assess(drive, receiver, measured)
    },
  }
}
