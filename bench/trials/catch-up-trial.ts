import { setTimeout as sleep } from 'node:timers/promises'
import type { EventDocument } from '@oncehook/gateway/inbox/event-document'
import { EVENTS } from '@oncehook/queue/task'
import type { Db } from 'mongodb'
import { startInterrupted } from '../receivers/oncehook/oncehook.ts'
import { waitUntilSettled } from '../receivers/stored-events.ts'
import type { Trial } from '../trial.ts'
import { loadAtRate, startDrive } from './drive.ts'

const BACKLOG_FOR_MS = 120_000
const POLL_MS = 20
const PATIENCE_MS = 60_000
// The last events were tried while fulfilment was away, and wait for their next attempt.
const CAUGHT_UP = 0.99

/**
 * Lets events wait while fulfilment is away, and starts it while deliveries go on at a rate. Measures how many events per
 * second are settled until 99 of 100 are, and how long deliveries wait before that and during it.
 */
export function createCatchUpTrial(trial: Pick<Trial, 'name' | 'title'> & { readonly perSecond: number }): Trial {
  const { name, title, perSecond } = trial
  return {
    name,
    title,
    async run(given) {
      const { setup, run, effort, signal } = given
      await using receiver = await startInterrupted(setup, run)
      using drive = await startDrive({ setup, receiver, signal })
      const plan = { kind: 'closed', connections: effort.connections, forMs: BACKLOG_FOR_MS } as const
      await drive.load({ orderPrefix: `${run}-backlog-`, count: effort.backlog, plan })
      const calm = await loadAtRate(drive, given, perSecond, 'calm-')
      await receiver.restore()
      await untilFirstSettled(receiver.gatewayDb)
      const meanwhile = await loadAtRate(drive, given, perSecond, 'meanwhile-')
      await waitUntilSettled(receiver.gatewayDb)
      return {
        figures: {
          perSecond: await settledPerSecond(receiver.gatewayDb),
          calmP99Ms: calm.report.latency.p99,
          p99Ms: meanwhile.report.latency.p99,
        },
        lost: await drive.countLost(),
        failed: meanwhile.report.failed,
        foreignShare: meanwhile.usage.foreignShare,
      }
    },
  }
}

async function untilFirstSettled(gateway: Db): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while ((await gateway.collection(EVENTS).findOne({ state: 'done' })) === null) {
    if (performance.now() > deadline) throw new Error('Nothing was settled after fulfilment had come back')
    await sleep(POLL_MS)
  }
}

/** By the stored times, from the first settled event on; including those that arrived meanwhile. */
async function settledPerSecond(gateway: Db): Promise<number> {
  const settled = gateway.collection<EventDocument>(EVENTS).find({ state: 'done' }, { projection: { settledAt: 1 } })
  const times = await settled.map(({ settledAt }) => settledAt?.getTime() ?? Number.NaN).toArray()
  times.sort((one, other) => one - other)
  const counted = Math.ceil(times.length * CAUGHT_UP)
  return counted / (((times[counted - 1] ?? Number.NaN) - (times[0] ?? Number.NaN)) / 1_000)
}
