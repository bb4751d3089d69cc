import type { OrderStatus } from '../orders/order.ts'
import type { Outcome, PaymentKey, StoredPayment } from '../orders/stored/order-document.ts'

export const PAYMENT_EVENT_TYPES = ['payment.succeeded', 'payment.failed'] as const

type PaymentEventType = (typeof PAYMENT_EVENT_TYPES)[number]

export interface PaymentState {
  readonly status: OrderStatus
  readonly access: 'locked' | 'unlocked'
  readonly payment: StoredPayment | null
  readonly paidBy: readonly PaymentKey[]
}

export interface PaymentFact {
  readonly type: PaymentEventType
  readonly provider: string
  readonly paymentId: string
  readonly at: Date
}

/** The effect of an event on an order. `applied` changes the state; the others do not. */
export interface Transition {
  readonly outcome: Outcome
  readonly state: PaymentState
}

const TRANSITIONS: Record<PaymentEventType, (state: PaymentState, fact: PaymentFact) => Transition> = {
  'payment.succeeded': succeed,
  'payment.failed': fail,
}

/**
 * Applies one payment to the state of an order. The status is a join, `pending < payment_failed < paid`: any order of
 * arrival, with any repetition, gives the same state. A repetition changes nothing, so an event without a marker has
 * no second effect.
 */
export function applyPayment(state: PaymentState, fact: PaymentFact): Transition {
  return TRANSITIONS[fact.type](state, fact)
}

function succeed(state: PaymentState, fact: PaymentFact): Transition {
  const { provider, paymentId: id } = fact
  if (state.status === 'paid' || hasPaid(state, { provider, id })) return { outcome: 'already_paid', state }
  const payment: StoredPayment = { id, provider, status: 'succeeded', at: fact.at }
  const paidBy = [...state.paidBy, { provider, id }]
  return { outcome: 'applied', state: { status: 'paid', access: 'unlocked', payment, paidBy } }
}

function fail(state: PaymentState, fact: PaymentFact): Transition {
  const { provider, paymentId: id } = fact
  if (state.status === 'paid' || hasPaid(state, { provider, id })) return { outcome: 'superseded', state }
  const payment = latest(state.payment, { id, provider, status: 'failed', at: fact.at })
  // An older attempt than the one shown, or the same attempt again.
  if (state.status === 'payment_failed' && payment === state.payment) return { outcome: 'superseded', state }
  return { outcome: 'applied', state: { ...state, status: 'payment_failed', payment } }
}

/** Whether a payment has already paid this order id, including orders deleted since. */
export function hasPaid(state: Pick<PaymentState, 'paidBy'>, payment: PaymentKey): boolean {
  return state.paidBy.some((paid) => paid.provider === payment.provider && paid.id === payment.id)
}

// If several attempts failed, the order shows the latest, regardless of arrival order. Ids break a tie.
function latest(shown: StoredPayment | null, failed: StoredPayment): StoredPayment {
  if (shown === null) return failed
  const later = shown.at.getTime() - failed.at.getTime() || compare(rank(shown), rank(failed))
  return later >= 0 ? shown : failed
}

function rank(payment: StoredPayment): string {
  return JSON.stringify([payment.provider, payment.id])
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
