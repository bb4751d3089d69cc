import type { ApiOrder } from '../stack/records.ts'
import { paymentOf, type Stack } from '../stack/stack.ts'
import type { WebhookSource } from './webhook-source.ts'

/** The owner that the gateway behind a source writes into the records that it claims. The event changes no order. */
export async function findOwner({ events, fulfilment }: Stack, probe: WebhookSource, order: ApiOrder): Promise<string> {
  const event = paymentOf(order, { type: 'payment.failed' })
  probe.add(event)
  fulfilment.pause()
  await probe.run()
  const record = await events.findOne({ eventId: event.id, state: 'processing' })
  fulfilment.resume()
  if (record?.leaseOwner === undefined || record.leaseOwner === null)
    throw new Error('No gateway has claimed the event')
  return record.leaseOwner
}
