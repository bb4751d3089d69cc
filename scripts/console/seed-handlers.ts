import { randomBytes } from 'node:crypto'
import type { HandlerServer } from '@oncehook/gateway/testing/handlers/handler-server'
import { sampleRecord } from '@oncehook/gateway/testing/sample-record'
import type { OperatedSystem } from '@oncehook/gateway/testing/start-operated-system'

const DAY_MS = 86_400_000

/** The handlers of the shop, in the form of `HANDLERS`. */
export function makeShopHandlers({ url }: HandlerServer, now: number): object {
  const secret = (id: string, endsInDays?: number) => ({
    ...{ id, value: `whsec_${randomBytes(32).toString('base64')}` },
    ...(endsInDays === undefined ? {} : { notAfter: new Date(now + endsInDays * DAY_MS).toISOString() }),
  })
  return {
    billing: {
      https: `${url}/billing`,
      secrets: [secret('2026-11'), secret('2026-05', 5)],
      events: [
        { provider: 'stripe', types: ['payment.*', 'customer.subscription.*'], where: { '/livemode': false } },
        { provider: 'adyen', types: ['payment.succeeded'] },
      ],
      ratePerSecond: 50,
    },
    'search-index': { https: `${url}/search`, secrets: [secret('only')], events: [{ types: ['customer.*'] }] },
  }
}

/** Makes a few tasks of handlers fail and wait, and leaves some of a handler that was removed. */
export async function seedHandlers({ events, operator }: OperatedSystem): Promise<void> {
  const done = await events
    .find({ handler: 'billing', state: 'done' }, { projection: { _id: 1 } })
    .limit(2)
    .toArray()
  const message = 'The handler answered 422'
  const dead = { state: 'dead', reason: 'handler_refused' } as const
  const attempts = [{ at: new Date(), ms: 20, outcome: 'dead', code: 'handler_refused', message }]
  await events.updateMany({ _id: { $in: done.map(({ _id }) => _id) } }, { $set: { ...dead, attempts } })
  const left = { handler: 'old-crm', provider: 'stripe', type: 'customer.updated' } as const
  await events.insertMany([sampleRecord({ ...left, ...dead }), sampleRecord({ ...left, state: 'pending' })])
  await operator('bob').handlers.pause.mutate({ handler: 'search-index', reason: 'the index is being rebuilt' })
}
