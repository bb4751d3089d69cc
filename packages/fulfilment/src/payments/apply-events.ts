import { unavailable } from '@oncehook/kernel/http/error-codes'
import { toAppError } from '@oncehook/kernel/http/errors'
import type { Logger } from '@oncehook/kernel/log/logger'
import type { DatabaseErrors } from '@oncehook/kernel/mongo/database-errors'
import { toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Db } from 'mongodb'
import { paymentUsedElsewhere, toRefusal, versionConflict } from '../errors.ts'
import { APPLIED_KEPT, ORDERS, type OrderDocument } from '../orders/stored/order-document.ts'
import { DURABLE_READ } from '../orders/stored/order-store.ts'
import type { ReceiptOutbox } from '../receipts/claims/new-receipts.ts'
import { CallReceipts } from './call-receipts.ts'
import { type CommitResult, commitChanges, mergeFirstPayments, type PlannedUpdate } from './commit-changes.ts'
import {
  type ApplyResult,
  type Decision,
  type DecisionContext,
  decideOrder,
  hasMarkerOf,
  type IncomingEvent,
} from './decide-order.ts'
import { orderUpdate } from './order-update.ts'
import { eventHash, type PaymentEvent } from './payment-event.ts'

export interface ApplyDeps {
  readonly db: Db
  readonly errors: DatabaseErrors
  readonly clock: Clock
  readonly logger: Logger
  readonly newCallId: () => string
  readonly receipts: ReceiptOutbox
}

const MAX_ROUNDS = 5
// Leaves time to finish within the 10 s of a request.
const LAST_ROUND_BEGINS_MS = 4_000

/** An event that is being decided. The verdict is null while it is open. */
interface Entry {
  readonly event: IncomingEvent
  verdict: ApplyResult | null
  paidTwice: boolean
}

/** A call: the data that decides about its events, and the receipts that it writes. */
interface Call {
  readonly context: DecisionContext
  readonly receipts: CallReceipts
  readonly merges: boolean
}

type Group = readonly Entry[]

/**
 * Applies each payment event to its order at most once. Answers are in input order. Orders are independent: the
 * events of one order form one conditional update, and all updates of a round are sent in one command. A refusal is
 * an answer, so one event never fails the whole call. If an order cannot be decided, only its own events are refused,
 * with `internal`, and are retried later.
 */
export async function applyEvents(deps: ApplyDeps, events: readonly PaymentEvent[]): Promise<ApplyResult[]> {
  const startedAt = performance.now()
  const context = { now: new Date(deps.clock.now()), call: deps.newCallId() }
  const entries: Entry[] = events.map((event) => ({
    event: { ...event, hash: eventHash(event) },
    verdict: null,
    paidTwice: false,
  }))
  // An order could not recognise more events than it keeps markers for.
  for (const group of groupsOf(entries).values()) refuse(group.slice(APPLIED_KEPT), versionConflict)
  using receipts = new CallReceipts(deps.receipts, { id: context.call, orders: groupsOf(entries).size })
  for (let round = 0; round < MAX_ROUNDS && performance.now() - startedAt < LAST_ROUND_BEGINS_MS; round += 1) {
    const open = entries.filter(({ verdict }) => verdict === null)
    if (open.length === 0) break
    // Merged once: an order that holds up the others gets its own statement in the next round.
    await runRound(deps, { context, receipts, merges: round === 0 }, groupsOf(open))
  }
  return toResults(deps, entries)
}

function groupsOf(entries: readonly Entry[]): Map<string, Entry[]> {
  return Map.groupBy(entries, ({ event }) => event.orderId)
}

interface Sent extends PlannedUpdate {
  readonly group: Group
  readonly decision: Decision
}

async function runRound(deps: ApplyDeps, call: Call, groups: ReadonlyMap<string, Group>): Promise<void> {
  const orders = await readOrders(deps, [...groups.keys()])
  if (orders === null) {
    for (const group of groups.values()) refuse(group, unavailable)
    return
  }
  const sent: Sent[] = []
  for (const [orderId, group] of groups) {
    try {
      const one = decide(group, orders.get(orderId) ?? null, call)
      if (one !== null) sent.push(one)
    } catch (error) {
      refuseUndecidable(deps, group, error)
    }
  }
  if (sent.length > 0) await commit(deps, call, sent)
}

async function commit(deps: ApplyDeps, call: Call, sent: readonly Sent[]): Promise<void> {
  const results = await commitChanges(
    deps,
    sent.map(({ statement }) => statement),
    call.merges ? mergeFirstPayments(sent) : undefined,
  )
  for (const [index, result] of results.entries()) {
    const one = sent[index]
    if (one === undefined) continue
    noteReceipt(call, one, result)
    close(deps, one, result)
  }
}

function noteReceipt({ receipts }: Call, { change, statement }: Sent, result: CommitResult): void {
  const receipt = statement.u.$push.receipts
  if (receipt !== undefined) receipts.note(change.order._id, receipt, result)
}

/** Settles the events of one order if no write is needed. Otherwise returns the write. */
function decide(group: Group, order: OrderDocument | null, { context, receipts }: Call): Sent | null {
  const incoming = group.map(({ event }) => event)
  const decision = decideOrder(order, incoming, context)
  if (order !== null && hasMarkerOf(order, context.call)) receipts.confirm(order)
  const { change } = decision
  for (const entry of group) entry.paidTwice ||= decision.paidTwice.includes(entry.event)
  if (change !== null) {
    return { group, decision, change, statement: orderUpdate(change, receipts.claimFor(change.order._id)) }
  }
  settle(group, decision)
  return null
}

function refuseUndecidable({ logger }: ApplyDeps, group: Group, thrown: unknown): void {
  const error = toAppError(thrown)
  const orderId = short(group[0]?.event.orderId ?? '')
  logger.error({ error, orderId, events: group.length }, 'order.undecidable')
  refuse(group, error)
}

function close(deps: ApplyDeps, { group, decision }: Sent, result: CommitResult): void {
  if (result === 'committed') settle(group, decision)
  else if (result === 'unknown') refuse(group, unavailable)
  else if (result === 'unchangeable') {
    refuseUndecidable(deps, group, new TypeError('The database rejected the change to the stored order'))
  } else if (result === 'payment_used') {
    // Refuses the paying event. The rest of the group is decided again without it.
    const paying = group.filter(({ event }, index) => isPaying(event, decision.verdicts[index]))
    refuse(paying, paymentUsedElsewhere)
  }
  // Unconfirmed: decide again. Either the markers are found, or a concurrent change won.
}

function isPaying(event: IncomingEvent, verdict: ApplyResult | undefined): boolean {
  return event.type === 'payment.succeeded' && outcomeOf(verdict) === 'applied'
}

function outcomeOf(verdict: ApplyResult | null | undefined): string | null {
  return verdict && 'outcome' in verdict ? verdict.outcome : null
}

function settle(group: Group, { verdicts }: Decision): void {
  for (const [index, entry] of group.entries()) entry.verdict = verdicts[index] ?? null
}

function refuse(group: Group, why: Parameters<typeof toRefusal>[0]): void {
  for (const entry of group) entry.verdict = toRefusal(why)
}

/** The verdict of each event. Events still open after all rounds lost every conflict. */
function toResults(deps: ApplyDeps, entries: readonly Entry[]): ApplyResult[] {
  const outcomes = entries.map(({ verdict }) => outcomeOf(verdict))
  for (const [index, { event, paidTwice }] of entries.entries()) {
    if (!paidTwice || outcomes[index] !== 'already_paid') continue
    const { provider, eventId, orderId } = event
    deps.logger.warn({ provider, eventId: short(eventId), orderId: short(orderId) }, 'payment.already-paid')
  }
  return entries.map(({ verdict }) => verdict ?? toRefusal(versionConflict))
}

function short(id: string): string {
  return id.slice(0, 64)
}

/**
 * Reads orders with majority read concern, because an answer must not rely on data that can be rolled back. Null if
 * unavailable.
 */
async function readOrders(
  { db, errors }: ApplyDeps,
  ids: readonly string[],
): Promise<Map<string, OrderDocument> | null> {
  try {
    // One batch for all orders: a smaller batch would leave the cursor open and cost another round trip.
    const batchSize = ids.length + 1
    const found = await db
      .collection<OrderDocument>(ORDERS)
      .find({ _id: { $in: [...ids] } }, { ...DURABLE_READ, batchSize })
      .project<OrderDocument>({ items: 0, note: 0, metadata: 0, receipts: 0 })
      .toArray()
    return new Map(found.map((order) => [order._id, order]))
  } catch (error) {
    if (toUnavailable(error) === null) throw error
    errors.count(error)
    return null
  }
}
