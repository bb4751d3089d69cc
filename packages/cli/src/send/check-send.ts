import {
  countEvents,
  type Delivered,
  isAccepted,
  isPaidByAnother,
  type PaymentOutcome,
  type SendRun,
} from './send-run.ts'

/** The result of a `send`: `done` only if its effect was seen. */
export interface SendResult {
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
