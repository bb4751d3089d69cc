import { ORDERS, type OrderDocument } from '@oncehook/fulfilment/orders/stored/order-document'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import type { RunningFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import { expect } from 'vitest'
import { untilEqual } from '../support/until.ts'

/** The content of an order over 19.99 EUR. */
export const CONTENT = {
  ...{ customerId: 'cus_1', currency: 'EUR' },
  items: [{ sku: 'sku_1', quantity: 1, unitAmount: 1999 }],
}

/** The content of an order with every member, and with texts that look like something else. */
export const UNUSUAL = {
  ...{ ...CONTENT, customerId: 'kunde <1>@"é"', email: 'a+b@xn--bcher-kva.example', note: 'Grüße,\n\t"%20" \\ 😀' },
  metadata: { 'a.b $c': '', größe: '1'.repeat(500) },
}

/** Creates the order `ord_<name>`, which the event `evt_<name>` and the payment `pay_<name>` have paid, unless it is paid already. */
export async function payOrder(fulfilment: RunningFulfilment, name: string, order: object = CONTENT): Promise<void> {
  const client = fulfilmentClient(fulfilment)
  const paid = { _id: `ord_${name}`, status: 'paid' } as const
  if ((await fulfilment.db.collection<OrderDocument>(ORDERS).countDocuments(paid)) === 1) return
  await client.orders.put.mutate({ id: `ord_${name}`, order })
  const event = { provider: 'acme', eventId: `evt_${name}`, type: 'payment.succeeded' as const }
  const payment = { paymentId: `pay_${name}`, orderId: `ord_${name}`, amount: 1999, currency: 'EUR' }
  const { results } = await client.payments.applyEvents.mutate({ events: [{ ...event, ...payment, ifMatch: '"1"' }] })
  expect(results).toMatchObject([{ outcome: 'applied', version: 2 }])
}

/** Waits until the receipt of a paid order was sent or is parked, and changes what is stored about it. */
export async function changeReceipt({ db }: RunningFulfilment, name: string, members: object): Promise<void> {
  const orders = db.collection<OrderDocument>(ORDERS)
  const id = `ord_${name}`
  await untilEqual(() => orders.countDocuments({ _id: id, 'receipts.0.state': { $in: ['sent', 'parked'] } }), 1)
  const set = Object.fromEntries(Object.entries(members).map(([member, value]) => [`receipts.0.${member}`, value]))
  if (Object.keys(set).length === 0) return
  expect((await orders.updateOne({ _id: id }, { $set: set })).matchedCount).toBe(1)
}

/** Creates the paid order `ord_<name>` with the parked receipt `rcp_<name>`. */
export async function parkReceipt(fulfilment: RunningFulfilment, name: string): Promise<void> {
  await payOrder(fulfilment, name)
  const lastError = { code: 'receipt_refused', at: new Date() }
  const parked = { state: 'parked', key: `rcp_${name}`, attempts: 2, dueAt: null, sentAt: null, lastError }
  await changeReceipt(fulfilment, name, parked)
}
