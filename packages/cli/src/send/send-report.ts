// The result of one `oncehook send`: as one sentence, as text and as JSON. It is `done` only if its effect was seen.

import { formatAmount } from '@oncehook/kernel/money/currencies'
import { toDuration, toPrintable } from '../output.ts'
import type { Order } from './orders.ts'
import {
  countEvents,
  type Delivered,
  isAccepted,
  isPaidByAnother,
  type PaymentOutcome,
  type PlannedPayment,
  type SendRun,
} from './payments.ts'

/** The result of a `send`: `done` only if its effect was seen. */
interface SendResult {
  readonly result: 'done' | 'refused' | 'failed'
  /** One sentence. */
  readonly summary: string
}

/** Summarizes a `send` in one sentence. Tampered deliveries are `refused` if all got 401. */
export function checkSend(run: SendRun): SendResult {
  const lost = run.deliveries.filter(({ status }) => status === null)
  const rejected = run.deliveries.filter((delivery) => delivery.status !== null && !isAccepted(delivery))
  const changed = run.payments.filter(({ order, after }) => order.version !== after.version)
  if (lost.length > 0) {
    return { result: 'failed', summary: `${count(lost, run)} not answered by ${run.url} (${lost[0]?.failure})` }
  }
  if (run.tampered) return checkTampered({ ...run, tampered: run.tampered }, rejected, changed)
  if (rejected.length > 0) return checkRejected(run, rejected)
  return checkEffect(run)
}

function checkTampered(
  run: SendRun & { tampered: string },
  rejected: readonly Delivered[],
  changed: readonly PaymentOutcome[],
): SendResult {
  if (rejected.length < run.deliveries.length) {
    return { result: 'failed', summary: `A delivery was accepted although its ${run.tampered} was tampered with` }
  }
  const other = rejected.find(({ status }) => status !== 401)
  if (other) return { result: 'refused', summary: `Refused, but with ${other.status} instead of 401` }
  if (changed.length > 0) return { result: 'failed', summary: `Refused with 401, but ${nameOrders(changed)} changed` }
  return {
    result: 'refused',
    summary: `Refused as expected: 401 for a tampered ${run.tampered}, and ${nameOrders(run.payments)} did not change`,
  }
}

function checkRejected(run: SendRun, rejected: readonly Delivered[]): SendResult {
  const status = rejected[0]?.status ?? 0
  return status >= 500
    ? { result: 'failed', summary: `${count(rejected, run)} answered ${status}: a provider would retry` }
    : { result: 'refused', summary: `${count(rejected, run)} refused with ${status}` }
}

function checkEffect(run: SendRun): SendResult {
  const { effect, payments } = run
  const paidByAnother = payments.find((payment) => effect === 'paid' && isPaidByAnother(payment))
  if (paidByAnother) {
    const { order } = paidByAnother
    const summary = `Accepted, but order ${order.id} was already paid by payment ${order.payment?.id}, and keeps it`
    return { result: 'failed', summary }
  }
  const unseen = payments.filter(({ seen }) => !seen)
  if (unseen.length > 0) return { result: 'failed', summary: `Accepted, but ${describeUnseen(run, unseen)}` }
  if (effect === 'none') {
    return { result: 'done', summary: `Accepted without effect: ${nameOrders(payments)} did not change` }
  }
  if (payments.every(({ order, after }) => order.version === after.version)) {
    return { result: 'done', summary: `Accepted, and nothing changed: ${describeUnchanged(payments)}` }
  }
  return { result: 'done', summary: `${capitalize(nameOrders(payments))} ${describeEffect(effect, payments.length)}` }
}

function describeEffect(effect: SendRun['effect'], orders: number): string {
  if (effect === 'paid') return orders === 1 ? 'is paid' : 'are paid'
  return `${orders === 1 ? 'shows' : 'show'} that the payment failed`
}

function describeUnchanged(payments: readonly PaymentOutcome[]): string {
  const [payment] = payments
  if (payments.length !== 1 || !payment) return 'every order already had this state'
  const state =
    payment.order.status === 'paid'
      ? `was already paid by payment ${payment.order.payment?.id}`
      : 'already had this state'
  return `order ${payment.order.id} ${state}`
}

function describeUnseen({ effect, timeoutSeconds, payments }: SendRun, unseen: readonly PaymentOutcome[]): string {
  const which = payments.length === 1 ? nameOrders(unseen) : `${unseen.length} of ${payments.length} orders`
  if (effect === 'none') return `${which} changed`
  const missing = effect === 'paid' ? 'did not become paid' : 'did not show the failed payment'
  return `${which} ${missing} within ${timeoutSeconds} s${describeMismatch(unseen)}`
}

/** The usual reason, which the public API does not show: the event and the order have different amounts. */
function describeMismatch(unseen: readonly PaymentOutcome[]): string {
  for (const { order, events } of unseen) {
    const other = events.find((event) => event.amount !== order.amountDue || event.currency !== order.currency)
    if (other) {
      return `: the event has ${other.amount} ${other.currency}, the order ${order.amountDue} ${order.currency}`
    }
  }
  return ''
}

function count(deliveries: readonly Delivered[], { deliveries: all }: SendRun): string {
  if (all.length === 1) return 'The delivery was'
  const [events, allEvents] = [countEvents(deliveries), countEvents(all)]
  const inEvents = allEvents === all.length ? '' : ` (${events} of ${allEvents} events)`
  return `${deliveries.length} of ${all.length} deliveries${inEvents} were`
}

function nameOrders(payments: readonly PaymentOutcome[]): string {
  return payments.length === 1 ? `order ${payments[0]?.order.id}` : `all ${payments.length} orders`
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

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
