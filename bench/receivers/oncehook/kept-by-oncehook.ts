import { type LiveOrder, ORDERS } from '@oncehook/fulfilment/orders/stored/order-document'
import { EVENTS } from '@oncehook/gateway/inbox/event-document'
import type { Db } from 'mongodb'
import { findStored, type StoredEvent } from '../find-stored.ts'
import { PROVIDER } from './describe-system.ts'

/** Returns the ids that the gateway has stored. */
export async function storedOf(gateway: Db, eventIds: readonly string[]): Promise<Set<string>> {
  const found = await findStored(gateway.collection<StoredEvent>(EVENTS), { provider: PROVIDER }, eventIds)
  return new Set(found.map(({ eventId }) => eventId))
}

const CHUNK = 10_000

/** The ids whose events are done and whose orders were paid by the payment that the event reports. */
export async function appliedOf(
  { gateway, fulfilment }: { readonly gateway: Db; readonly fulfilment: Db },
  eventIds: readonly string[],
): Promise<Set<string>> {
  const settled = { provider: PROVIDER, state: 'done' }
  const done = await findStored(gateway.collection<StoredEvent>(EVENTS), settled, eventIds)
  const kept = new Set<string>()
  for (let from = 0; from < done.length; from += CHUNK) {
    const events = done.slice(from, from + CHUNK)
    const paid = await paymentsOf(
      fulfilment,
      events.map(({ orderId = '' }) => orderId),
    )
    for (const { eventId, orderId = '', objectId } of events) if (paid.get(orderId) === objectId) kept.add(eventId)
  }
  return kept
}

/** Order id -> id of the payment that paid it, for each of these orders that is paid. */
async function paymentsOf(fulfilment: Db, orderIds: string[]): Promise<Map<string, string | undefined>> {
  const orders = await fulfilment
    .collection<LiveOrder>(ORDERS)
    .find({ _id: { $in: orderIds }, status: 'paid' }, { projection: { 'payment.id': 1 } })
    .toArray()
  return new Map(orders.map(({ _id, payment }) => [_id, payment?.id]))
}
