import type { SigningIdentity } from '../signing-identity.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { type PlannedPayment, toEffect } from './plan-payment.ts'
import { type Delivered, isAccepted, type PaymentOutcome, toExpectation } from './send-run.ts'
import { type WatchDeps, watchOrder } from './watch-order.ts'

/** What was delivered, and for how long its effect is waited for. */
export interface DeliveredPayments {
  readonly identity: Pick<SigningIdentity, 'signer' | 'settings'>
  readonly payments: readonly PlannedPayment[]
  readonly deliveries: readonly Delivered[]
  /** When the first delivery began, in milliseconds since 1970. */
  readonly begun: number
  readonly timeoutMs: number
}

const parallelReads = 8
/** How long an order that is to stay as it is gets to change nevertheless: most effects take a tenth of it. */
const quietMs = 500

/**
 * Waits until every order shows what the accepted deliveries told of it. Where that is no change at all, waits a moment
 * before it looks, so that an order that changes nevertheless is seen to.
 * @throws OrdersApiFailure when the API refuses, or was away to the end
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
