import { randomBytes, randomUUID } from 'node:crypto'
import { type LiveOrder, ORDERS } from '@oncehook/fulfilment/orders/stored/order-document'
import { createFulfilmentClient } from '@oncehook/gateway/fulfilment/fulfilment-client'
import { systemClock } from '@oncehook/kernel/clock'
import { formatEntityTag } from '@oncehook/kernel/entity-tag'
import { keyOfSecret } from '@oncehook/kernel/parse-service-key'
import { Secret } from '@oncehook/kernel/secret'
import { createServiceTokens } from '@oncehook/kernel/service-token'
import { PRICE } from '../load/signed-deliveries.ts'
import { startMeter } from '../measure/meter.ts'
import { describeSystem, PROVIDER, type SystemRun } from '../receivers/oncehook/describe-system.ts'
import { insertOrders } from '../receivers/oncehook/insert-orders.ts'
import { startService } from '../receivers/oncehook/service.ts'
import type { Trial } from '../trial.ts'

const CALL_MS = 30_000
const SHARE_OF_BACKLOG = 0.1
const NEW_ORDER = formatEntityTag(1)

/**
 * A simple way to dispatch events: one call of fulfilment for each event, `inFlight` at a time. It has advantages: the
 * version is known, nothing is read from a store before, and nothing is marked as done afterwards.
 */
export function createSingleCallsTrial({
  name,
  title,
  inFlight,
}: Pick<Trial, 'name' | 'title'> & { readonly inFlight: number }): Trial {
  return {
    name,
    title,
    async run({ setup, run, effort }) {
      const system = await describeSystem(setup, run)
      await using fulfilment = await startService(system.fulfilment)
      const db = setup.database(system.fulfilmentDb)
      try {
        const count = Math.ceil(effort.backlog * SHARE_OF_BACKLOG)
        const prefix = `${run}-`
        await insertOrders(db, prefix, count)
        const meter = startMeter({
          fulfilment: fulfilment.pid,
          mongod: setup.mongodPid,
          benchmark: process.pid,
        })
        const beganAt = performance.now()
        const applied = await applyEach(system, { prefix, count, inFlight })
        const seconds = (performance.now() - beganAt) / 1_000
        const { foreignShare } = meter()
        const paid = await db.collection<LiveOrder>(ORDERS).countDocuments({ status: 'paid' })
        return { figures: { perSecond: paid / seconds }, lost: applied - paid, failed: {}, foreignShare }
      } finally {
        await db.dropDatabase()
      }
    },
  }
}

interface Calls {
  readonly prefix: string
  readonly count: number
  readonly inFlight: number
}

async function applyEach(system: SystemRun, { prefix, count, inFlight }: Calls): Promise<number> {
  const key = keyOfSecret(new Secret(system.serviceSecret))
  const client = createFulfilmentClient({
    url: new URL(system.fulfilmentUrl),
    tokens: createServiceTokens({
      key: () => key,
      newId: randomUUID,
      issuer: 'gateway',
      audience: 'fulfilment',
      clock: systemClock,
    }),
    fetch: globalThis.fetch,
    timeoutMs: CALL_MS,
  })
  const queue = Array.from({ length: count }, (_, index) => index).values()
  let applied = 0
  const work = async (): Promise<void> => {
    for (const index of queue) {
      const { results } = await client.payments.applyEvents.mutate({ events: [toEvent(`${prefix}${index}`)] })
      const [result] = results
      if (result === undefined || 'refused' in result) throw new Error(`A payment was refused: ${result?.refused}`)
      applied += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return applied
}

function toEvent(orderId: string) {
  const unique = randomBytes(15).toString('base64url')
  const event = { provider: PROVIDER, eventId: `evt_${unique}`, paymentId: `pi_${unique}`, orderId, ...PRICE }
  return { ...event, type: 'payment.succeeded' as const, ifMatch: NEW_ORDER, occurredAt: new Date().toISOString() }
}
