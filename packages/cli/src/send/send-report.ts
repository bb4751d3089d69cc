// The result of one `oncehook send`: as one sentence, as text and as JSON. It is `done` only if its effect was seen.

import type { DeliveryReport } from '@oncehook/simulator/payment-provider'
import { toPrintable } from '../output.ts'
import type { Order } from './orders.ts'
import type { PaymentOutcome, SendRun } from './payments.ts'

interface SendResult {
  readonly result: 'done' | 'refused' | 'failed'
  readonly summary: string
}

export function checkSend(run: SendRun): SendResult {
  const lost = run.deliveries.filter(({ status }) => status === null)
  if (lost.length > 0) {
    return { result: 'failed', summary: `${count(lost, run)} not answered by ${run.url} (${lost[0]?.failure})` }
  }
  const rejected = run.deliveries.filter(({ status }) => status !== 200)
  if (rejected.length === 0) return checkEffect(run)
  const status = rejected[0]?.status ?? 0
  return status >= 500
    ? { result: 'failed', summary: `${count(rejected, run)} answered ${status}: a provider would retry` }
    : { result: 'refused', summary: `${count(rejected, run)} refused with ${status}` }
}

function count(deliveries: readonly DeliveryReport[], { deliveries: all }: SendRun): string {
  return all.length === 1 ? 'The delivery was' : `${deliveries.length} of ${all.length} deliveries were`
}

function checkEffect({ effect, payments, timeoutSeconds }: SendRun): SendResult {
  const other = payments.find(
    ({ order, paymentId }) => effect === 'paid' && order.status === 'paid' && order.payment?.id !== paymentId,
  )?.order
  if (other) {
    const summary = `Accepted, but order ${other.id} was already paid by payment ${other.payment?.id}, and keeps it`
    return { result: 'failed', summary }
  }
  const unseen = payments.filter(({ seen }) => !seen)
  if (unseen.length > 0) {
    const which = payments.length === 1 ? nameOrders(unseen) : `${unseen.length} of ${payments.length} orders`
    const missing = { paid: 'did not become paid', payment_failed: 'did not show the failed payment', none: 'changed' }
    const within = effect === 'none' ? '' : ` within ${timeoutSeconds} s${describeMismatch(unseen)}`
    return { result: 'failed', summary: `Accepted, but ${which} ${missing[effect]}${within}` }
  }
  if (payments.every(({ order, after }) => order.version === after.version)) {
    return { result: 'done', summary: `Accepted without effect: ${nameOrders(payments)} did not change` }
  }
  const which = payments.length === 1 ? `Order ${payments[0]?.order.id} is` : `All ${payments.length} orders are`
  return { result: 'done', summary: `${which} ${effect === 'paid' ? 'paid' : 'shown with a failed payment'}` }
}

/** The usual reason, which the public API does not show: the event and the order have different amounts. */
function describeMismatch(unseen: readonly PaymentOutcome[]): string {
  const other = unseen.find(({ order, event }) => event.amount !== order.amountDue)
  return other === undefined
    ? ''
    : `: the event has the amount ${other.event.amount}, the order ${other.order.amountDue}`
}

function nameOrders(payments: readonly PaymentOutcome[]): string {
  return payments.length === 1 ? `order ${payments[0]?.order.id}` : `all ${payments.length} orders`
}

export function toSendDocument({ provider, scheme, url, deliveries, payments }: SendRun, result: SendResult): object {
  return {
    ...{ ...result, provider, scheme, url, deliveries },
    orders: payments.map(({ order, after, created, paymentId, seen }) => ({
      ...{ id: order.id, made: created, paymentId, seen },
      ...{ before: pickState(order), after: pickState(after), changed: order.version !== after.version },
    })),
  }
}

function pickState({ status, access, version }: Order): Pick<Order, 'status' | 'access' | 'version'> {
  return { status, access, version }
}

/** Above this number, deliveries are counted instead of listed, and orders are not shown. */
const mostLines = 8

/** The output of `send`, without the summary. */
export function describeRun({ url, scheme, deliveries, payments }: SendRun): string[] {
  const answers =
    deliveries.length <= mostLines
      ? deliveries.map((delivery) => `${delivery.eventId}: ${describeAnswer(delivery)}`)
      : [...Map.groupBy(deliveries, describeAnswer)].map(([answer, alike]) => `${alike.length} times: ${answer}`)
  return [
    `Endpoint  ${url} (${scheme})`,
    ...answers.map((answer) => `Delivery  ${answer}`),
    ...(payments.length <= mostLines ? payments.map(describeOutcome) : []),
  ]
}

function describeAnswer({ status, body, failure }: DeliveryReport): string {
  return toPrintable(status === null ? `no answer (${failure})` : `${status} ${body}`.trimEnd())
}

function describeOutcome({ order, after }: PaymentOutcome): string {
  const steps = (['status', 'access', 'version'] as const)
    .filter((name) => order[name] !== after[name])
    .map((name) => `${order[name]} -> ${after[name]}`)
  return `Order     ${order.id}: ${steps.length > 0 ? steps.join(', ') : `stays ${after.status}, ${after.access}`}`
}
