import type { WithId } from 'mongodb'
import type { SentEvent } from '../load/webhook-source.ts'
import { findEndedClaims } from './claim-watch.ts'
import type { AuditEntry, EventRecord, OrderRecord, ReceiptLine, Replay } from './records.ts'
import type { Stack } from './stack.ts'

/** The requirements for a run: its fault struck, and there was enough load for it to strike. */
export interface RowEvidence {
  /** How often each fault struck, by its name. At least one name, and none may have a 0. */
  readonly struck: Readonly<Record<string, number>>
  /** The least number of deliveries answered with 200. */
  readonly volume: number
  /** No fault came between sending a receipt and noting that: none was sent again under its key. Default: it may have been. */
  readonly receiptsOnce?: true
}

/** For a run in which nothing is meant to go wrong. */
export const NO_FAULT: RowEvidence['struck'] = { 'no fault': 1 }

type CheckedStack = Pick<Stack, 'events' | 'orderRecords' | 'receipts' | 'overdueClaims' | 'problems'>

/**
 * Compares what a source sent, and the answers, with the inbox, the orders and the receipts, once all is settled, and lists
 * every broken promise in a sentence. These are the invariants:
 * I1 every event answered 200 has one record, byte for byte, settled; I2 no record twice; I3 an event is applied once and
 * the version counts what was applied; I4 one receipt for a paid order, none otherwise; I5 access for a paid order, none
 * otherwise; I6 no effect without a record; I7 no record and no effect from a delivery that was refused; I8 no record is in
 * process after the end of its claim, and none was left alone for long while all was being settled; I9 a settled record changes
 * only by a replay, a revival or a closing that the audit log names; I10 no service ended unasked, crashed or let out what it
 * must not; I11 the fault struck and the volume was reached.
 */
export async function closingCheck(
  stack: CheckedStack,
  log: readonly SentEvent[],
  evidence: RowEvidence,
): Promise<string[]> {
  const [records, orders, receipts] = await Promise.all([
    stack.events.find().toArray(),
    stack.orderRecords.find().toArray(),
    stack.receipts(),
  ])
  const sent = new Map(log.map((one) => [one.event.id, one]))
  const recorded = Map.groupBy(records, ({ eventId }) => eventId)
  return [
    ...log.flatMap((one) => checkEvent(one, recorded.get(one.event.id) ?? [])),
    ...records.filter(({ eventId }) => !sent.has(eventId)).map(({ eventId }) => `I6 ${eventId} was never sent`),
    ...orders.flatMap((order) => checkOrder(order, { log, recorded })),
    ...checkReceipts(orders, evidence.receiptsOnce ? receipts : firstOfEachKey(receipts)),
    ...(await checkClaims(stack)),
    ...(await checkReplays(stack, records)),
    ...(await checkUnchanged(stack, records)),
    ...stack.problems().map((problem) => `I10 ${problem}`),
    ...checkEvidence(log, evidence),
  ]
}

// A closed event has failed permanently: an operator decided so.
const SETTLED = new Set(['done', 'unhandled', 'closed'])

function checkEvent({ event, message, answers, tampered }: SentEvent, records: readonly EventRecord[]): string[] {
  const problems: string[] = []
  const accepted = answers.includes(200)
  if (tampered !== undefined && (accepted || records.length > 0))
    problems.push(`I7 ${event.id} is spoiled and was taken`)
  if (accepted && records.length === 0) problems.push(`I1 ${event.id} was answered 200 and has no record`)
  if (records.length > 1) problems.push(`I2 ${event.id} has ${records.length} records`)
  for (const { raw, state, reason } of records) {
    if (!Buffer.from(raw.buffer).equals(message.body)) problems.push(`I1 ${event.id} is stored with other bytes`)
    if (!SETTLED.has(state)) problems.push(`I1 ${event.id} is ${state} (${reason})`)
  }
  return problems
}

interface Sent {
  readonly log: readonly SentEvent[]
  readonly recorded: ReadonlyMap<string, readonly EventRecord[]>
}

function checkOrder(order: OrderRecord, { log, recorded }: Sent): string[] {
  const problems: string[] = []
  const marked = [...order.applied, ...(order.paidBy ?? []).map(({ marker }) => marker)]
  const markers = marked.map(({ eventId }) => eventId)
  const applied = marked.filter(({ outcome }) => outcome === 'applied').length
  if (new Set(markers).size !== markers.length) problems.push(`I3 an event is applied twice to ${order._id}`)
  if (order.version !== 1 + applied)
    problems.push(`I3 ${order._id} has version ${order.version} after ${applied} events`)
  const foreign = markers.filter((eventId) => !recorded.has(eventId))
  if (foreign.length > 0) problems.push(`I6 ${order._id} shows ${foreign} without a record`)

  const isClosed = (eventId: string): boolean => recorded.get(eventId)?.some(({ state }) => state === 'closed') ?? false
  const accepted = log.filter(
    ({ event, answers }) => event.orderId === order._id && answers.includes(200) && !isClosed(event.id),
  )
  const isToBePaid = accepted.some(({ event }) => event.type === 'payment.succeeded')
  if ((order.status === 'paid') !== isToBePaid) problems.push(`I3 ${order._id} is ${order.status}`)
  if ((order.access === 'unlocked') !== isToBePaid) problems.push(`I5 ${order._id} is ${order.access}`)
  const due = accepted.filter(({ event }) => event.type.startsWith('payment.'))
  const lost = due.filter(({ event }) => !markers.includes(event.id))
  if (lost.length > 0) problems.push(`I1 ${lost.map(({ event }) => event.id)} left no trace on ${order._id}`)
  return problems
}

function firstOfEachKey(lines: readonly ReceiptLine[]): ReceiptLine[] {
  return [...Map.groupBy(lines, ({ key }) => key).values()].flatMap(([first]) => first ?? [])
}

function checkReceipts(orders: readonly OrderRecord[], lines: readonly ReceiptLine[]): string[] {
  const linesOf = Map.groupBy(lines, ({ orderId }) => orderId)
  const known = new Set(orders.map(({ _id }) => _id))
  return [
    ...lines.filter(({ orderId }) => !known.has(orderId)).map(({ orderId }) => `I4 a receipt for ${orderId}`),
    ...orders.flatMap((order) => {
      const sent = (linesOf.get(order._id) ?? []).map(({ key, paymentId }) => `${key} ${paymentId}`)
      const owed = order.receipts.map(({ key, paymentId }) => `${key} ${paymentId}`)
      const wanted = order.status === 'paid' ? 1 : 0
      const isRight = owed.length === wanted && sent.length === wanted && owed[0] === sent[0]
      return isRight
        ? []
        : [`I4 ${order._id} is ${order.status}, owes ${owed.length} receipts, ${sent.length} were sent`]
    }),
  ]
}

async function checkClaims(stack: CheckedStack): Promise<string[]> {
  const forgotten = await findEndedClaims(stack.events)
  return [
    ...forgotten.map(({ eventId }) => `I8 ${eventId} is in process, and its claim has ended`),
    ...stack.overdueClaims().map((eventId) => `I8 ${eventId} was left alone for long after its claim had ended`),
  ]
}

/**
 * Every result of an event is among its attempts. A second result needs a replay, or a revival by a repeated delivery. The
 * audit log names each of these, and who closed a closed event.
 */
async function checkReplays({ events }: CheckedStack, records: readonly WithId<EventRecord>[]): Promise<string[]> {
  const problems: string[] = []
  const audit = await events.db.collection<AuditEntry>('audit').find().toArray()
  const entries = Map.groupBy(audit, ({ action, details }) => `${action} ${details?.id}`)
  for (const { _id, eventId, state, attempts, replays = [], again: { revivals = 0 } = {} } of records) {
    const verdicts = attempts.filter(({ outcome }) => outcome !== 'deferred').length
    const times = replays.length + revivals
    if (verdicts > 1 + times)
      problems.push(`I9 ${eventId} was settled ${verdicts} times and made due again ${times} times`)
    const isAudited = (replay: Replay): boolean =>
      audit.some(({ action, by, reason }) => action === 'events.replay' && by === replay.by && reason === replay.reason)
    if (!replays.every(isAudited)) problems.push(`I9 ${eventId} was replayed, and the audit log has no entry`)
    const audited = (action: string) => entries.get(`${action} ${_id}`) ?? []
    if (audited('events.revive').length < revivals)
      problems.push(`I9 ${eventId} was revived ${revivals} times, and the audit log has fewer entries`)
    if (state === 'closed' && audited('events.close').every(({ details }) => details?.refused !== undefined))
      problems.push(`I9 ${eventId} was closed, and the audit log has no entry`)
  }
  return problems
}

/** Reads the settled records again, to find changes that a late process made since the first read. */
async function checkUnchanged({ events }: CheckedStack, records: readonly EventRecord[]): Promise<string[]> {
  const verdictOf = ({ state, reason, starts, attempts }: EventRecord): string =>
    [state, reason, starts, attempts.length].join()
  const settled = new Map(
    records
      .filter(({ state }) => SETTLED.has(state) || state === 'dead')
      .map((record) => [record.eventId, verdictOf(record)]),
  )
  const again = await events.find({ eventId: { $in: [...settled.keys()] } }).toArray()
  return again
    .filter((record) => settled.get(record.eventId) !== verdictOf(record))
    .map(({ eventId }) => `I9 ${eventId} was settled and changed afterwards`)
}

function checkEvidence(log: readonly SentEvent[], { struck, volume }: RowEvidence): string[] {
  const faults = Object.entries(struck)
  const accepted = log.flatMap(({ answers }) => answers).filter((answer) => answer === 200).length
  const problems = faults.filter(([, times]) => !(times > 0)).map(([name]) => `I11 it never came to this: ${name}`)
  if (faults.length === 0) problems.push('I11 no fault is named')
  if (accepted < volume) problems.push(`I11 ${accepted} deliveries were accepted, ${volume} are the least`)
  return problems
}
