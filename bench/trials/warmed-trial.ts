import type { Receiver, StartReceiver } from '../receivers/receiver.ts'
import type { Outcome, Trial, TrialRun } from '../trial.ts'
import { type Drive, startDrive, warmUp } from './drive.ts'

/** The receiver that a trial measures. */
export interface TrialSubject {
  readonly name: string
  readonly title: string
  readonly start: StartReceiver
}

/** A receiver that has been warmed up. */
interface Warmed {
  readonly receiver: Receiver
  readonly drive: Drive
  /** Deliveries per second during the warm-up. */
  readonly warmRate: number
  readonly given: TrialRun
}

/** A trial that starts a receiver, warms it up and then measures. */
export function warmedTrial(
  { name, title, start }: TrialSubject,
  measure: (warmed: Warmed) => Promise<Outcome>,
): Trial {
  return {
    name,
    title,
    async run(given) {
      const { setup, run, signal } = given
      await using receiver = await start(setup, run)
      using drive = await startDrive({ setup, receiver, signal })
      const warmRate = await warmUp(drive, given)
      return await measure({ receiver, drive, warmRate, given })
    },
  }
}
