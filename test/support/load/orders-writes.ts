import { randomUUID } from 'node:crypto'
import type { OrdersApi } from './orders-api.ts'

/** Writes to orders, each a function that can be called again: a client's retry of the same request. */
export type OrderWrite = () => Promise<number>

const CONTENT = { customerId: 'cus_1', currency: 'EUR', items: [{ sku: 'sku_1', quantity: 1, unitAmount: 500 }] }
const JSON_TYPE = { 'content-type': 'application/json' }

/** A PUT of an order of this id. Resolves with the status. */
export function putOf(orders: OrdersApi, id: string): OrderWrite {
  const body = JSON.stringify(CONTENT)
  return async () => (await orders.send(`/${id}`, { method: 'PUT', headers: JSON_TYPE, body })).status
}

/** A POST of an order of a customer, without a key. Resolves with the status. */
export function postOf(orders: OrdersApi, customerId: string): OrderWrite {
  const body = JSON.stringify({ ...CONTENT, customerId })
  return async () => (await orders.send('', { method: 'POST', headers: JSON_TYPE, body })).status
}

/** A PATCH of the note of the first version of an order. Resolves with the status. */
export function patchOf(orders: OrdersApi, id: string): OrderWrite {
  const headers = { 'content-type': 'application/merge-patch+json', 'if-match': '"1"' }
  const body = JSON.stringify({ note: 'patched' })
  return async () => (await orders.send(`/${id}`, { method: 'PATCH', headers, body })).status
}

/** A DELETE of an order. Resolves with the status. */
export function deleteOf(orders: OrdersApi, id: string): OrderWrite {
  return async () => (await orders.send(`/${id}`, { method: 'DELETE' })).status
}

/** A POST of an order under one Idempotency-Key. Resolves with the status. */
export function keyedPostOf(orders: OrdersApi): OrderWrite {
  const headers = { ...JSON_TYPE, 'idempotency-key': randomUUID() }
  const body = JSON.stringify(CONTENT)
  return async () => (await orders.send('', { method: 'POST', headers, body })).status
}
