import { ORDERS, type OrderDocument } from '@oncehook/fulfilment/orders/stored/order-document'
import { sealMembers } from '@oncehook/fulfilment/orders/stored/order-encryption'
import { fulfilmentClient } from '@oncehook/fulfilment/testing/fulfilment-client'
import type { RunningFulfilment } from '@oncehook/fulfilment/testing/start-fulfilment'
import type { ServiceCall } from '@oncehook/kernel/secrets/service-token'
import { createTestKeys } from '@oncehook/kernel/testing/test-encryption'
import { expect } from 'vitest'
import { CONTENT, changeReceipt, parkReceipt, payOrder } from './paid-orders.ts'

const EVERY_MEMBER = { ...CONTENT, email: 'a@example.com', note: 'a note', metadata: { colour: 'blue' } }

interface Named {
  readonly name: string
}

/** The states of orders in fulfilment. Real calls create them. */
export function orderStates(fulfilment: RunningFulfilment) {
  const client = fulfilmentClient(fulfilment)
  const orders = fulfilment.db.collection<OrderDocument>(ORDERS)
  return {
    'there is no order': async ({ orderId }: { orderId: string }) => {
      expect(await orders.countDocuments({ _id: orderId })).toBe(0)
    },
    'there is an order': async ({ orderId: id, version }: { orderId: string; version: number }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      for (let at = 2; at <= version; at += 1) {
        await client.orders.put.mutate({ id, order: { ...CONTENT, note: `version ${at}` } })
      }
      expect(await client.orders.get.query({ id })).toMatchObject({ version, status: 'pending' })
    },
    'there is an order of a principal': async ({ orderId: id, principal }: { orderId: string; principal: string }) => {
      const { url, tokens } = fulfilment
      const issue = (call: ServiceCall): Promise<string> => tokens.issue({ ...call, subject: principal })
      await fulfilmentClient({ url, tokens: { issue } }).orders.put.mutate({ id, order: CONTENT })
    },
    'there is an order of a customer': async ({ orderId: id, customerId }: { orderId: string; customerId: string }) => {
      await client.orders.put.mutate({ id, order: { ...CONTENT, customerId } })
    },
    'an order was paid': ({ name }: Named) => payOrder(fulfilment, name),
    'the payment of an order failed': async ({ name }: Named) => {
      await client.orders.put.mutate({ id: `ord_${name}`, order: CONTENT })
      const event = { provider: 'acme', eventId: `evt_${name}_failed`, type: 'payment.failed' as const }
      const payment = { paymentId: `pay_${name}_failed`, orderId: `ord_${name}`, amount: 1999, currency: 'EUR' }
      const { results } = await client.payments.applyEvents.mutate({
        events: [{ ...event, ...payment, ifMatch: '"1"' }],
      })
      expect(results).toMatchObject([{ outcome: 'applied', version: 2 }])
    },
    'an order with every member was paid': ({ name }: Named) => payOrder(fulfilment, name, EVERY_MEMBER),
    'an order was deleted': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      expect(await client.orders.delete.mutate({ id })).toMatchObject({ deleted: true })
    },
    'an order is encrypted by a key that is gone': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      const { email } = sealMembers(id, { email: 'a@example.com' }, createTestKeys().encryption('gone'))
      expect((await orders.updateOne({ _id: id }, { $set: { email } })).modifiedCount).toBe(1)
    },
    'an order cannot be shown': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      expect((await orders.updateOne({ _id: id }, { $unset: { items: '' } })).modifiedCount).toBe(1)
    },
    'an order is damaged': async ({ orderId: id }: { orderId: string }) => {
      await client.orders.put.mutate({ id, order: CONTENT })
      expect((await orders.updateOne({ _id: id }, { $unset: { applied: '' } })).modifiedCount).toBe(1)
    },
  }
}

/** The states of receipts in fulfilment. */
export function receiptStates(fulfilment: RunningFulfilment) {
  return {
    'a receipt is parked': ({ name }: Named) => parkReceipt(fulfilment, name),
    'a receipt was sent': async ({ name, key }: Named & { key?: string }) => {
      await payOrder(fulfilment, name)
      await changeReceipt(fulfilment, name, key === undefined ? {} : { key })
    },
    'a receipt is owed': async ({ name }: Named) => {
      await payOrder(fulfilment, name)
      // Within the longest wait of a receipt. One that is due later counts as due now: it is a sign of a wrong clock.
      const inTenMinutes = new Date(Date.now() + 600_000)
      await changeReceipt(fulfilment, name, { state: 'owed', attempts: 0, sentAt: null, dueAt: inTenMinutes })
    },
  }
}
