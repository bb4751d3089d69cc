import { preconditionFailed, preconditionRequired } from '@oncehook/kernel/http/error-codes'
import { readPreconditions } from '@oncehook/kernel/http/preconditions'
import { isSealed } from '@oncehook/kernel/secrets/encryption'
import {
  amountMismatch,
  currencyMismatch,
  eventMismatch,
  orderDeleted,
  orderUnknown,
  type Refusal,
  toRefusal,
} from '../errors.ts'
import {
  type AppliedEvent,
  isLive,
  type LiveOrder,
  markersOf,
  type OrderDocument,
  type Outcome,
} from '../orders/stored/order-document.ts'
import type { PaymentEvent } from './payment-event.ts'
import { applyPayment, hasPaid, type PaymentState } from './transitions.ts'

/** The effect of an event and the order version after it, or the reason for its refusal. */
export type ApplyResult = { readonly outcome: Outcome | 'duplicate'; readonly version: number } | Refusal

export interface IncomingEvent extends PaymentEvent {
  readonly hash: string
}

export interface DecisionContext {
  readonly now: Date
  /** Identifies the call, so that it recognises its own update if the reply was inconclusive. */
  readonly call: string
}

export interface OrderChange {
  readonly order: LiveOrder
  /** The new markers, except for that of the event that pays the order. */
  readonly markers: readonly AppliedEvent[]
  readonly paying: AppliedEvent | null
  /** The state after the events; null if only markers are written and readers see no change. */
  readonly state: PaymentState | null
  readonly versionsUp: number
}

/** A verdict for each event, in input order, and the one change they require, if any. */
export interface Decision {
  readonly verdicts: readonly ApplyResult[]
  readonly change: OrderChange | null
  /** Events about a second payment for an order that is already paid. */
  readonly paidTwice: readonly IncomingEvent[]
}

/**
 * Decides the effect of events on one order, in input order and without side effects. An applied event is a duplicate
 * regardless of `ifMatch`. The version, the amount and the currency are checked next. Then the states are joined.
 * @throws TypeError if the stored order, or a marker in it, does not have the form that this service writes
 */
export function decideOrder(
  order: OrderDocument | null,
  events: readonly IncomingEvent[],
  context: DecisionContext,
): Decision {
  if (order === null) return { verdicts: events.map(() => toRefusal(orderUnknown)), change: null, paidTwice: [] }
  checkStoredOrder(order)
  const draft = createDraft(order, context)
  const verdicts = events.map((event) => answerFromMarker(draft, event) ?? decideNew(draft, event))
  return { verdicts, change: changeOf(draft), paidTwice: draft.paidTwice }
}

/** Whether an update of this call to an order was committed in an earlier round. */
export function hasMarkerOf(order: OrderDocument, call: string): boolean {
  return markersOf(order).some((marker) => marker.call === call)
}

interface Draft {
  readonly order: OrderDocument
  readonly context: DecisionContext
  readonly seen: Map<string, AppliedEvent>
  readonly markers: AppliedEvent[]
  readonly ownReported: Set<string>
  readonly paidTwice: IncomingEvent[]
  paying: AppliedEvent | null
  state: PaymentState | null
  applied: number
}

function createDraft(order: OrderDocument, context: DecisionContext): Draft {
  const { status, payment, paidBy = [] } = order
  return {
    order,
    context,
    seen: new Map(markersOf(order).map((marker) => [eventKey(marker), marker])),
    markers: [],
    ownReported: new Set(),
    paidTwice: [],
    paying: null,
    state: status === 'deleted' ? null : { status, access: order.access, payment, paidBy },
    applied: 0,
  }
}

function eventKey(event: { readonly provider: string; readonly eventId: string }): string {
  return JSON.stringify([event.provider, event.eventId])
}

function answerFromMarker(draft: Draft, event: IncomingEvent): ApplyResult | null {
  const key = eventKey(event)
  const marker = draft.seen.get(key)
  if (marker === undefined) return null
  if (!isMarker(marker)) throw new TypeError('The stored order has no valid marker of this event')
  if (marker.hash !== event.hash) return toRefusal(eventMismatch)
  // Our own update from an earlier round was committed. Its event gets the true outcome once.
  const own = marker.call === draft.context.call && !draft.ownReported.has(key)
  draft.ownReported.add(key)
  return { outcome: own && !draft.markers.includes(marker) ? marker.outcome : 'duplicate', version: marker.version }
}

function isMarker({ hash, version }: AppliedEvent): boolean {
  return typeof hash === 'string' && Number.isSafeInteger(version)
}

function decideNew(draft: Draft, event: IncomingEvent): ApplyResult {
  if (draft.state === null || !isLive(draft.order)) return toRefusal(orderDeleted)
  const refusal = refusalOf(draft.order, event)
  if (refusal !== null) return refusal
  const at = event.occurredAt === undefined ? draft.context.now : new Date(event.occurredAt)
  const { outcome, state } = applyPayment(draft.state, { ...event, at })
  if (outcome === 'applied') draft.applied += 1
  if (outcome === 'already_paid' && !hasPaid(state, { provider: event.provider, id: event.paymentId })) {
    draft.paidTwice.push(event)
  }
  draft.state = state
  const marker = mark(draft, event, outcome)
  if (outcome === 'applied' && event.type === 'payment.succeeded') draft.paying = marker
  return { outcome, version: marker.version }
}

function refusalOf(order: LiveOrder, event: IncomingEvent): Refusal | null {
  if (event.ifMatch === undefined) return toRefusal(preconditionRequired)
  if (readPreconditions({ ifMatch: event.ifMatch })(order.version) !== null) return toRefusal(preconditionFailed)
  if (event.amount !== undefined && event.amount !== order.amountDue) return toRefusal(amountMismatch)
  const currency = event.currency?.toUpperCase()
  return currency !== undefined && currency !== order.currency ? toRefusal(currencyMismatch) : null
}

function mark(draft: Draft, event: IncomingEvent, outcome: Outcome): AppliedEvent {
  const version = draft.order.version + draft.applied
  const { provider, eventId, hash } = event
  const marker: AppliedEvent = {
    provider,
    eventId,
    hash,
    outcome,
    version,
    at: draft.context.now,
    call: draft.context.call,
  }
  draft.markers.push(marker)
  draft.seen.set(eventKey(event), marker)
  return marker
}

function changeOf({ order, markers, paying, state, applied }: Draft): OrderChange | null {
  if (markers.length === 0 || !isLive(order)) return null
  return {
    order,
    markers: markers.filter((marker) => marker !== paying),
    paying,
    state: applied === 0 ? null : state,
    versionsUp: applied,
  }
}

type Check = readonly [property: string, isRight: (value: unknown) => boolean]

const STATUSES: ReadonlySet<unknown> = new Set(['pending', 'payment_failed', 'paid', 'deleted'])
// More than any caller may write. Bounds what one order adds to a command.
const MAX_TEXT = 1_024

const OF_ALL: readonly Check[] = [
  ['version', (value) => Number.isSafeInteger(value)],
  ['status', (value) => STATUSES.has(value)],
  ['applied', Array.isArray],
  ['paidBy', (value) => value === undefined || Array.isArray(value)],
]

const OF_LIVE: readonly Check[] = [
  ['amountDue', (value) => Number.isSafeInteger(value)],
  ['currency', isText],
  ['customerId', isText],
  ['email', (value) => value === undefined || isText(value) || isSealed(value)],
  ['payment', isPayment],
]

/**
 * Checks the properties of a stored order that decisions depend on. A person may have written them.
 * @throws TypeError that names the first invalid property, never its value
 */
function checkStoredOrder(order: OrderDocument): void {
  const checks = order.status === 'deleted' ? OF_ALL : [...OF_ALL, ...OF_LIVE]
  const stored = order as unknown as Readonly<Record<string, unknown>>
  const wrong = checks.find(([property, isRight]) => !isRight(stored[property]))
  if (wrong !== undefined) throw new TypeError(`The stored order has no valid ${wrong[0]}`)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= MAX_TEXT
}

function isPayment(value: unknown): boolean {
  if (value === null) return true
  return typeof value === 'object' && (value as { at?: unknown }).at instanceof Date
}
