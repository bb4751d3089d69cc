import { peakResidentMib } from '../measure/process-usage.ts'
import type { Receiver } from '../receivers/receiver.ts'
import type { Outcome } from '../trial.ts'
import type { Drive, Driven } from './drive.ts'

/** The outcome of a trial's measured load. Lost events are counted over every load of the drive. */
export async function assess(drive: Drive, receiver: Receiver, measured: Driven): Promise<Outcome> {
  const { report, seconds, usage } = measured
  const peakMib = peakResidentMib(receiver.receiverPid)
  const keptIds = await receiver.keptOf(report.acknowledged)
  const kept = report.acknowledged.filter((id) => keptIds.has(id)).length
  const each = (ms = 0): number => (ms * 1_000) / kept
  const { receiver: receiverMs, mongod, sender, fulfilment } = usage.processes
  return {
    figures: {
      perSecond: kept / seconds,
      p50Ms: report.latency.p50,
      p99Ms: report.latency.p99,
      receiverUs: each(receiverMs),
      mongodUs: each(mongod),
      senderUs: each(sender),
      ...(fulfilment === undefined ? {} : { fulfilmentUs: each(fulfilment) }),
      peakMib,
    },
    lost: await drive.countLost(),
    failed: report.failed,
    foreignShare: usage.foreignShare,
  }
}
