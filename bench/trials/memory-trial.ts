import { peakResidentMib, residentMib } from '../measure/process-usage.ts'
import type { Trial } from '../trial.ts'
import { startDrive } from './drive.ts'
import type { TrialSubject } from './load-trials.ts'

const BATCH = 25_000
const BATCH_FOR_MS = 60_000

/** Measures the memory of a receiver after it has accepted very many deliveries as fast as it can. */
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
      for (let batch = 0; accepted < effort.accepts; batch += 1) {
        signal.throwIfAborted()
        const orderPrefix = `${run}-${batch}-`
        const { report, usage } = await drive.load({ orderPrefix, count: BATCH, plan })
        if (report.acknowledged.length === 0) throw new Error('Nothing was accepted any more')
        accepted += report.acknowledged.length
        foreignShare = Math.max(foreignShare, usage.foreignShare)
      }
      const { receiverPid } = receiver
      return {
        figures: { residentMib: residentMib(receiverPid), peakMib: peakResidentMib(receiverPid) },
        lost: await drive.countLost(),
        failed: {},
        foreignShare,
      }
    },
  }
}
