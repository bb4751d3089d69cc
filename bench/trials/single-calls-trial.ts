import { createPrivateKey, randomBytes, randomUUID } from 'node:crypto'
import { type LiveOrder, ORDERS } from '@oncehook/fulfilment/orders/stored/order-document'
import { createFulfilmentClient } from '@oncehook/gateway/http/fulfilment-client'
import { createServiceTokens } from '@oncehook/kernel/secrets/service-token'
import { systemClock } from '@oncehook/kernel/time/clock'
import { PRICE } from '../load/signed-deliveries.ts'
import { startMeter } from '../measure/meter.ts'
import { describeSystem, PROVIDER } from '../receivers/oncehook/describe-system.ts'
import { startService } from '../receivers/oncehook/service.ts'
import { insertOrders } from '../receivers/orders.ts'
import type { Trial } from '../trial.ts'

const CALL_MS = 30_000
const SHARE_OF_BACKLOG = 0.1

/**
 * The simple way to send events on: one call of fulfilment for each, `inFlight` at a time. It has advantages: nothing is
 * read from a store before, and nothing is marked as done afterwards.
 */
export function createSingleCallsTrial(trial: Pick<Trial, 'name' | 'title'> & { readonly inFlight: number }): Trial {
  const { name, title, inFlight } = trial
  return {
    name,
    title,
    async run({ setup, run, effort }) {
      const system = await describeSystem(setup, run)
      await using fulfilment = await startService(system.fulfilment)
      const db = setup.database(system.fulfilmentDb)
      try {
        const orderIds = Array.from({ length: Math.ceil(effort.backlog * SHARE_OF_BACKLOG) }, (_, n) => `${run}-${n}`)
        await insertOrders(db, `${run}-`, orderIds.length)
        const meter = startMeter({ fulfilment: fulfilment.pid, mongod: setup.mongodPid, benchmark: process.pid })
        const beganAt = performance.now()
        await applyEach(system.gateway.env, orderIds, inFlight)
        const seconds = (performance.now() - beganAt) / 1_000
        const { foreignShare } = meter()
        const paid = await db.collection<LiveOrder>(ORDERS).countDocuments({ status: 'paid' })
        return { figures: { perSecond: paid / seconds }, lost: orderIds.length - paid, failed: {}, foreignShare }
      } finally {
        await db.dropDatabase()
      }
    },
  }
}

async function applyEach(env: Readonly<Record<string, string>>, orderIds: string[], inFlight: number): Promise<void> {
  const { SERVICE_PRIVATE_KEY = '', FULFILMENT_URL = '' } = env
  const key = createPrivateKey(SERVICE_PRIVATE_KEY)
  const own = { key: () => key, newId: randomUUID, clock: systemClock }
  const tokens = createServiceTokens({ ...own, issuer: 'gateway', audience: 'fulfilment' })
  const client = createFulfilmentClient(new URL(FULFILMENT_URL), tokens, globalThis.fetch, CALL_MS)
  const queue = orderIds.values()
  const work = async (): Promise<void> => {
    for (const orderId of queue) {
      const { results } = await client.payments.applyEvents.mutate({ events: [eventOf(orderId)] })
      const [result] = results
      if (result === undefined || 'refused' in result) throw new Error(`A payment was refused: ${result?.refused}`)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
}

function eventOf(orderId: string) {
  const unique = randomBytes(15).toString('base64url')
  const event = { provider: PROVIDER, eventId: `evt_${unique}`, paymentId: `pi_${unique}`, orderId, ...PRICE }
  return { ...event, type: 'payment.succeeded' as const, ifMatch: '*' as const, occurredAt: new Date().toISOString() }
}
