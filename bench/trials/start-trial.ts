import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpConnection } from '../load/http-connection.ts'
import { type SignedDelivery, signDeliveries } from '../load/signed-deliveries.ts'
import { startMeter } from '../measure/meter.ts'
import type { Setup } from '../receivers/receiver.ts'
import type { Startable } from '../receivers/startable.ts'
import type { Trial } from '../trial.ts'

const POLL_MS = 5
const PATIENCE_MS = 30_000

/** Measures the time from the start of a process to its first 200: with an empty database, then after a restart. */
export function createStartTrial({
  name,
  title,
  open,
}: Pick<Trial, 'name' | 'title'> & {
  readonly open: (setup: Setup, run: string) => Promise<Startable>
}): Trial {
  return {
    name,
    title,
    async run({ setup, run }) {
      await using startable = await open(setup, run)
      const batch = {
        url: startable.url,
        secret: setup.secret,
        count: 2,
        mix: 'unique',
        orderPrefix: run,
      } as const
      const deliveries = signDeliveries(batch, Date.now())
      const starts: { readonly ms: number; readonly foreignShare: number }[] = []
      for (const delivery of deliveries) starts.push(await timeStart(setup, startable, delivery))
      const kept = await startable.keptOf(deliveries.map(({ eventId }) => eventId))
      return {
        figures: { firstStartMs: starts[0]?.ms ?? Number.NaN, startMs: starts[1]?.ms ?? Number.NaN },
        lost: deliveries.length - kept.size,
        failed: {},
        foreignShare: Math.max(...starts.map(({ foreignShare }) => foreignShare)),
      }
    },
  }
}

async function timeStart(setup: Setup, startable: Startable, { request }: SignedDelivery) {
  const beganAt = performance.now()
  const begun = startable.begin()
  try {
    const meter = startMeter({ receiver: begun.pid, mongod: setup.mongodPid, benchmark: process.pid })
    await deliverUntilTaken(startable.url, request)
    return { ms: performance.now() - beganAt, foreignShare: meter().foreignShare }
  } finally {
    await begun.end()
  }
}

/** Sends the same delivery again and again until it is answered 200, as a provider would, only faster. */
async function deliverUntilTaken(url: string, request: Buffer): Promise<void> {
  const connection = createHttpConnection(new URL(url))
  const deadline = performance.now() + PATIENCE_MS
  try {
    while ((await connection.exchange(request).catch(() => 0)) !== 200) {
      if (performance.now() > deadline) throw new Error('A receiver did not begin to take deliveries')
      await sleep(POLL_MS)
    }
  } finally {
    connection.close()
  }
}
