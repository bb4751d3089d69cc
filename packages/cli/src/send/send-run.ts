import type { DeliveryReport } from '@oncehook/simulator/payment-provider'
import type { TamperedPart } from '@oncehook/simulator/tampering'
import type { PaymentEvent } from '@oncehook/webhooks/signing/payment-event'
import type { Order } from './orders-client.ts'
import type { Effect, PlannedPayment } from './plan-payment.ts'

/** A delivery with its events and its response. */
export interface Delivered extends DeliveryReport {
  readonly events: readonly Pick<PaymentEvent, 'id' | 'type' | 'orderId'>[]
}

/** A payment with the last seen state of its order. */
export interface PaymentOutcome extends PlannedPayment {
  readonly after: Order
  /** Whether the order reached the expected state. */
  readonly seen: boolean
  /** From the start of the first delivery to the last read of the order. */
  readonly ms: number
}

/** All results of one `oncehook send`. */
export interface SendRun {
  readonly provider: string
  readonly scheme: string
  /** The URL of the deliveries. */
  readonly url: string
  /** The requested number of events in each delivery. */
  readonly batch: number
  readonly tampered: TamperedPart | undefined
  readonly timeoutSeconds: number
  readonly effect: Effect
  readonly deliveries: readonly Delivered[]
  readonly payments: readonly PaymentOutcome[]
}

/** The number of events in the deliveries. An event that was delivered twice counts twice. */
export function countEvents(deliveries: readonly Delivered[]): number {
  return deliveries.reduce((sum, { events }) => sum + events.length, 0)
}

/** Whether the gateway accepted a delivery. */
export function isAccepted({ status }: DeliveryReport): boolean {
  return status === 200
}

/** Whether another payment already paid the order. */
export function isPaidByAnother({ order, paymentId }: PlannedPayment): boolean {
  return order.status === 'paid' && order.payment?.id !== paymentId
}

/** Checks whether an order shows the expected effect. A paid order never changes. */
export function toExpectation({ order: before, paymentId }: PlannedPayment, effect: Effect): (now: Order) => boolean {
  if (effect === 'none') return (now) => now.version === before.version
  if (before.status === 'paid') return (now) => now.status === 'paid' && now.payment?.id === before.payment?.id
  if (effect === 'paid') return (now) => now.status === 'paid' && now.payment?.id === paymentId
  return (now) => now.status === 'payment_failed'
}
