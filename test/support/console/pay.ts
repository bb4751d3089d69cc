import { paymentEvent } from '@oncehook/gateway/testing/start-operated-system'
import { expect } from 'vitest'
import type { ConsoleUnderTest } from './open-console.ts'

/** The ids of a record and of its order. */
interface Paid {
  readonly id: string
  readonly orderId: string
}

/** Sends a payment of a new order and waits until it is settled. An amount other than 300 makes a dead event. */
export async function pay({ system }: ConsoleUnderTest, eventId: string, amount = 300): Promise<Paid> {
  const orderId = await system.order()
  expect(await system.deliver(paymentEvent(eventId, { orderId, amount }))).toBe(200)
  const { _id } = await system.until(eventId, ({ state }) => state === 'done' || state === 'dead')
  return { id: String(_id), orderId }
}
