import { setTimeout as sleep } from 'node:timers/promises'
import type { ForgedScheme } from '../load/forged-deliveries.ts'
import type { OpenLoad } from '../load/load.ts'
import { startSender } from '../load/sender.ts'
import type { Trial, TrialRun } from '../trial.ts'
import { type Drive, startDrive, warmUp } from './drive.ts'
import type { TrialSubject } from './load-trials.ts'

/** Valid deliveries at a rate, and the number of forgeries for each. */
export interface ForgedTrial extends TrialSubject {
  readonly perSecond: number
  readonly forgedForEach: number
  readonly forgedBytes: number
  /** The scheme of the forgeries, which go to the provider of that name. Default: that of the good deliveries. */
  readonly forged?: Exclude<ForgedScheme, 'stripe'>
}

const FLOOD_CONNECTIONS = 64
const FLOOD_AHEAD_MS = 500

/** Measures how long good deliveries wait without and with a flood of large forged ones. Both are sent by schedule. */
export function createForgedTrial(trial: ForgedTrial): Trial {
  const { name, title, start } = trial
  return {
    name,
    title,
    async run(given) {
      const { setup, run, signal } = given
      await using receiver = await start(setup, run)
      using flooder = await startSender(signal)
      using drive = await startDrive({ setup, receiver, signal, others: { flooder: flooder.pid } })
      await warmUp(drive, given)
      const calm = await sendGood(drive, given, trial, 'calm')
      const { forged, forgedBytes: bytes } = trial
      const url = forged === undefined ? receiver.url : receiver.url.replace(/[^/]*$/, forged)
      await flooder.forge({ url, count: floodCount(trial, given), bytes, scheme: forged ?? 'stripe' })
      const flood = flooder.send(floodPlan(trial))
      await sleep(FLOOD_AHEAD_MS)
      const flooded = await sendGood(drive, given, trial, 'flooded')
      const { acknowledged } = await flood
      if (acknowledged.length > 0) throw new Error('A forged delivery was accepted')
      return {
        figures: { calmP99Ms: calm.report.latency.p99, p99Ms: flooded.report.latency.p99 },
        lost: await drive.countLost(),
        failed: flooded.report.failed,
        foreignShare: Math.max(calm.usage.foreignShare, flooded.usage.foreignShare),
      }
    },
  }
}

function sendGood(drive: Drive, { run, effort }: TrialRun, { perSecond }: ForgedTrial, name: string) {
  return drive.load({
    orderPrefix: `${run}-${name}-`,
    count: Math.ceil(perSecond * ((effort.measureMs * 2) / 1_000)),
    plan: { kind: 'open', connections: effort.connections, perSecond },
  })
}

/** The flood begins before the good deliveries are counted and ends after them. */
function floodPlan(trial: ForgedTrial): OpenLoad {
  const perSecond = trial.perSecond * trial.forgedForEach
  return { kind: 'open', connections: FLOOD_CONNECTIONS, perSecond }
}

function floodCount(trial: ForgedTrial, { effort }: TrialRun): number {
  const seconds = (effort.measureMs * 2 + FLOOD_AHEAD_MS * 2) / 1_000
  return Math.ceil(floodPlan(trial).perSecond * seconds)
}
