import type { Corruption } from '@oncehook/simulator/corruption'
import type { PaymentEvent } from '@oncehook/simulator/payment-event'
import type { DeliveryReport } from '@oncehook/simulator/payment-provider'
import type { Order } from '../orders-client.ts'
import type { Effect, PlannedPayment } from './plan-payment.ts'

/** One delivery, its events, and what it came to. */
export interface Delivered extends DeliveryReport {
  readonly events: readonly Pick<PaymentEvent, 'id' | 'type' | 'orderId'>[]
}

/** One payment, and how its order was last seen. */
export interface PaymentOutcome extends PlannedPayment {
  readonly after: Order
  /** Whether the order was seen as expected. */
  readonly seen: boolean
  /** From the begin of the first delivery to the order's last look. */
  readonly ms: number
}

/** Everything that is known at the end of one `oncehook send`. */
export interface SendRun {
  readonly provider: string
  readonly scheme: string
  /** Where the deliveries went. */
  readonly url: string
  /** The events that a delivery was to have. */
  readonly batch: number
  readonly corruption: Corruption | undefined
  readonly timeoutSeconds: number
  readonly effect: Effect
  readonly deliveries: readonly Delivered[]
  readonly payments: readonly PaymentOutcome[]
}

/** How many events the deliveries have; one that was delivered twice counts twice. */
export function countEvents(deliveries: readonly Delivered[]): number {
  return deliveries.reduce((sum, { events }) => sum + events.length, 0)
}

/** Whether the gateway took a delivery. */
export function isAccepted({ status }: DeliveryReport): boolean {
  return status === 200
}

/** Whether the order was paid before, by another payment than this. */
export function isPaidByAnother({ order, paymentId }: PlannedPayment): boolean {
  return order.status === 'paid' && order.payment?.id !== paymentId
}

/** What the order has to look like for the effect to be seen. A paid order stays as it is, whatever is told of it. */
export function toExpectation({ order: before, paymentId }: PlannedPayment, effect: Effect): (now: Order) => boolean {
  if (effect === 'none') return (now) => now.version === before.version
  if (before.status === 'paid') return (now) => now.status === 'paid' && now.payment?.id === before.payment?.id
  if (effect === 'paid') return (now) => now.status === 'paid' && now.payment?.id === paymentId
  return (now) => now.status === 'payment_failed'
}
