import type { SigningIdentity } from '../sign/signing-identity.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { type PlannedPayment, toEffect } from './plan-payment.ts'
import { type Delivered, isAccepted, type PaymentOutcome, toExpectation } from './send-run.ts'
import { type WatchDeps, watchOrder } from './watch-order.ts'

/** The deliveries, and the timeout for their effect. */
export interface DeliveredPayments {
  readonly identity: Pick<SigningIdentity, 'signer' | 'settings'>
  readonly payments: readonly PlannedPayment[]
  readonly deliveries: readonly Delivered[]
  /** When the first delivery began, in milliseconds since 1970. */
  readonly begun: number
  readonly timeoutMs: number
}

const parallelReads = 8
/** The time in which an order that should not change could still change. Most effects take a tenth of it. */
const quietMs = 500

/**
 * Waits until every order shows the effect of its accepted deliveries. If no change is expected, it waits a moment before it
 * reads the orders, so that it notices an unexpected change.
 * @throws OrdersApiFailure if the API refuses, or still fails at the deadline
 */
export async function watchPayments(deps: WatchDeps, delivered: DeliveredPayments): Promise<PaymentOutcome[]> {
  const { payments, begun, timeoutMs } = delivered
  const accepted = delivered.deliveries.filter(isAccepted).flatMap(({ events }) => events)
  const typesOfOrder = Map.groupBy(accepted, ({ orderId }) => orderId)
  const watched = payments.map((payment) => {
    const types = (typesOfOrder.get(payment.order.id) ?? []).map(({ type }) => type)
    return { payment, until: toExpectation(payment, toEffect(types, delivered.identity)) }
  })
  const deadline = deps.now() + timeoutMs
  if (watched.some(({ payment, until }) => until(payment.order))) await deps.sleep(Math.min(quietMs, timeoutMs))
  return mapConcurrently(watched, parallelReads, async ({ payment, until }) => {
    const after = await watchOrder(deps, payment.order.id, { until, deadline })
    return { ...payment, after, seen: until(after), ms: deps.now() - begun }
  })
}
