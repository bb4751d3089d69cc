import { peakResidentMib, residentMib } from '../measure/process-usage.ts'
import { spreadOf } from '../measure/statistics.ts'
import type { Trial } from '../trial.ts'
import { startDrive } from './drive.ts'
import type { TrialSubject } from './load-trials.ts'

const BATCH = 25_000
// Of the first four batches and of the last four, the median: a checkpoint of the database slows one of some.
const COMPARED = 4
const BATCH_FOR_MS = 60_000

/** Measures the memory and the rate of a receiver after it has accepted very many deliveries as fast as it can. */
export function createMemoryTrial({ name, title, start }: TrialSubject): Trial {
  return {
    name,
    title,
    async run({ setup, run, effort, signal }) {
      await using receiver = await start(setup, run)
      using drive = await startDrive({ setup, receiver, signal })
      const plan = { kind: 'closed', connections: effort.connections, forMs: BATCH_FOR_MS } as const
      let accepted = 0
      let foreignShare = 0
      const rates: number[] = []
      for (let batch = 0; accepted < effort.accepts; batch += 1) {
        signal.throwIfAborted()
        const orderPrefix = `${run}-${batch}-`
        const { report, seconds, usage } = await drive.load({ orderPrefix, count: BATCH, plan })
        if (report.acknowledged.length === 0) throw new Error('Nothing was accepted any more')
        accepted += report.acknowledged.length
        rates.push(report.acknowledged.length / seconds)
        foreignShare = Math.max(foreignShare, usage.foreignShare)
      }
      const { receiverPid } = receiver
      return {
        figures: {
          firstPerSecond: spreadOf(rates.slice(0, COMPARED)).median,
          perSecond: spreadOf(rates.slice(-COMPARED)).median,
          ...{ residentMib: residentMib(receiverPid), peakMib: peakResidentMib(receiverPid) },
        },
        lost: await drive.countLost(),
        failed: {},
        foreignShare,
      }
    },
  }
}
