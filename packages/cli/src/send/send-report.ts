import { formatAmount } from '@oncehook/kernel/currencies'
import { toDuration, toPrintable } from '../output.ts'
import type { SendResult } from './check-send.ts'
import type { Order } from './orders-client.ts'
import type { PlannedPayment } from './plan-payment.ts'
import { countEvents, type Delivered, type PaymentOutcome, type SendRun } from './send-run.ts'

/** Above this number, deliveries and orders are counted instead of listed. */
const mostLines = 8

/** The output of `send --json`. */
export function toSendDocument(run: SendRun, sendResult: SendResult): object {
  return {
    ...sendResult,
    provider: run.provider,
    scheme: run.scheme,
    url: run.url,
    deliveries: run.deliveries.map((delivery) => toDeliveryDocument(delivery, run.batch)),
    orders: run.payments.map((payment) => ({
      id: payment.order.id,
      made: payment.created,
      paymentId: payment.paymentId,
      before: pickState(payment.order),
      after: pickState(payment.after),
      changed: payment.order.version !== payment.after.version,
      seen: payment.seen,
      ms: roundMs(payment.ms),
    })),
  }
}

function toDeliveryDocument({ events, eventId, ...report }: Delivered, batch: number): object {
  const rest = { ...report, ms: roundMs(report.ms) }
  if (batch > 1) return { events: events.map(({ id, type, orderId }) => ({ eventId: id, type, orderId })), ...rest }
  const [event] = events
  return { eventId, ...rest, type: event?.type, orderId: event?.orderId }
}

/** The output of `send` before the deliveries. */
export function describePlan(payments: readonly PlannedPayment[]): string[] {
  const [payment] = payments
  if (payments.length !== 1 || !payment) return [`Orders    ${payments.length} created`]
  const { order, created } = payment
  const price = formatAmount(order.amountDue, order.currency)
  return [`Order     ${order.id}, ${price}, ${created ? 'created' : `exists: ${describeState(order)}`}`]
}

/** The output of `send` after the deliveries, without the summary. */
export function describeRun(run: SendRun): string[] {
  const answers =
    run.deliveries.length <= mostLines ? run.deliveries.map(describeDelivery) : describeManyDeliveries(run.deliveries)
  return [`Endpoint  ${run.url} (${run.scheme})`, ...answers, ...describeOutcomes(run.payments)]
}

function describeDelivery({ events, ms, ...delivery }: Delivered): string {
  return `Delivery  ${describeEvents(events)}: ${describeAnswer(delivery)} in ${toDuration(ms)}`
}

function describeEvents(events: Delivered['events']): string {
  const [first] = events
  const last = events.at(-1)
  return events.length === 1 ? `${first?.id} ${first?.type}` : `${events.length} events, ${first?.id} to ${last?.id}`
}

function describeAnswer({ status, body, failure }: Pick<Delivered, 'status' | 'body' | 'failure'>): string {
  return status === null ? `no answer (${toPrintable(failure ?? '')})` : `${status} ${toPrintable(body)}`.trimEnd()
}

function describeManyDeliveries(deliveries: readonly Delivered[]): string[] {
  const answers = Map.groupBy(deliveries, ({ status, failure }) =>
    status === null ? `not answered (${toPrintable(failure ?? '')})` : `answered ${status}`,
  )
  const times = deliveries.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share: number): string => toDuration(times[Math.ceil(times.length * share) - 1] ?? 0)
  return [
    ...[...answers].map(([answer, alike]) => `Delivery  ${alike.length} ${answer}${describeSum(alike)}`),
    `Latency   p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`,
  ]
}

function describeSum(deliveries: readonly Delivered[]): string {
  const events = countEvents(deliveries)
  return events === deliveries.length ? '' : `, with ${events} events`
}

function describeOutcomes(payments: readonly PaymentOutcome[]): string[] {
  if (payments.length <= mostLines) return payments.map(describeOutcome)
  const states = new Map<string, number>()
  for (const { after } of payments) states.set(after.status, (states.get(after.status) ?? 0) + 1)
  const slowest = Math.max(...payments.map(({ ms }) => ms))
  return [...states].map(([status, number]) => `Orders    ${number} ${status}, seen within ${toDuration(slowest)}`)
}

function describeOutcome({ order, after, ms }: PaymentOutcome): string {
  const steps = (['status', 'access', 'version'] as const)
    .filter((name) => order[name] !== after[name])
    .map((name) => `${name === 'version' ? 'version ' : ''}${order[name]} -> ${after[name]}`)
  const change = steps.length > 0 ? steps.join(', ') : `stays ${describeState(after)}`
  return `Order     ${order.id}: ${change} (after ${toDuration(ms)})`
}

function describeState({ status, access, version }: Order): string {
  return `${status}, ${access}, version ${version}`
}

function pickState({ status, access, version }: Order): Pick<Order, 'status' | 'access' | 'version'> {
  return { status, access, version }
}

function roundMs(ms: number): number {
  return Math.round(ms * 10) / 10
}
