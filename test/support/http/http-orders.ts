import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import type { HttpAnswer } from './http-answer.ts'
import type { HttpCall, HttpSystem } from './http-system.ts'

/** The path of all orders. */
export const ORDERS = '/api/orders'

/** An order over EUR 3.00, with these properties replaced. */
export function orderContent(members: object = {}): object {
  const items = [{ sku: 'book', quantity: 2, unitAmount: 150 }]
  return { customerId: 'cus_1', currency: 'EUR', items, ...members }
}

/** A path that no order has yet. */
export function unusedPath(): string {
  return `${ORDERS}/o_${randomUUID()}`
}

/** An order that a test works on. */
export interface OrderUnderTest {
  readonly id: string
  readonly target: string
  /** The entity tag as received, with quotes. */
  readonly etag: string
  readonly text: string
}

/** Makes an order by PUT. */
export async function makeOrder({ call }: Pick<HttpSystem, 'call'>, members: object = {}): Promise<OrderUnderTest> {
  const target = unusedPath()
  const { status, headers, text } = await call({ method: 'PUT', target, body: orderContent(members) })
  expect(status).toBe(201)
  return { id: target.slice(ORDERS.length + 1), target, etag: headers.etag ?? '', text }
}

/** Sends this number of requests together, each on a separate connection. */
export function callTogether(
  { call }: Pick<HttpSystem, 'call'>,
  count: number,
  request: (n: number) => HttpCall,
): Promise<HttpAnswer[]> {
  return Promise.all(Array.from({ length: count }, (_, n) => call(request(n))))
}

/** How often each status came, as `{ 200: 1, 412: 19 }`. */
export function countStatuses(answers: readonly HttpAnswer[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
