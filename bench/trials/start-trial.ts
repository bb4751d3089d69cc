import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpConnection } from '../load/http-connection.ts'
import { type SignedDelivery, signDeliveries } from '../load/signed-deliveries.ts'
import { describeSystem, PROVIDER } from '../receivers/oncehook/describe-system.ts'
import { startService } from '../receivers/oncehook/service.ts'
import { findStored } from '../receivers/stored-events.ts'
import type { Trial } from '../trial.ts'

const POLL_MS = 5
const PATIENCE_MS = 30_000

/** Measures the time from the start of a gateway that has run before to its first 200. */
export function createStartTrial({ name, title }: Pick<Trial, 'name' | 'title'>): Trial {
  return {
    name,
    title,
    async run({ setup, run }) {
      const system = await describeSystem(setup, run)
      const db = setup.database(system.gatewayDb)
      const { url } = system
      const deliveries = signDeliveries(
        { url, secret: setup.secret, count: 2, mix: 'unique', orderPrefix: run },
        Date.now(),
      )
      try {
        let startMs = Number.NaN
        for (const delivery of deliveries) {
          const beganAt = performance.now()
          await using _gateway = await startService(system.gateway)
          await deliverUntilTaken(url, delivery)
          startMs = performance.now() - beganAt
        }
        const ids = deliveries.map(({ eventId }) => eventId)
        const kept = await findStored(db, { provider: PROVIDER }, ids)
        // Nothing measures other processes here: the process that starts is not known to a meter that begins before it.
        return { figures: { startMs }, lost: ids.length - kept.length, failed: {}, foreignShare: 0 }
      } finally {
        await db.dropDatabase()
      }
    },
  }
}

/** Sends the same delivery again and again until it is answered 200, as a provider would, only faster. */
async function deliverUntilTaken(url: string, { request }: SignedDelivery): Promise<void> {
  const connection = createHttpConnection(new URL(url))
  const deadline = performance.now() + PATIENCE_MS
  try {
    while ((await connection.exchange(request).catch(() => 0)) !== 200) {
      if (performance.now() > deadline) throw new Error('The gateway did not begin to take deliveries')
      await sleep(POLL_MS)
    }
  } finally {
    connection.close()
  }
}
