import type { EventRecord, OrderRecord, ReceiptLine } from './records.ts'
import type { Stack } from './stack.ts'
import type { SentEvent } from './webhook-source.ts'

/**
 * Compares what a source sent and was told with the inbox, the orders and the receipts, once all is settled, and lists
 * every broken promise in a sentence. The numbers are the invariants of `docs/reliability.md`:
 * I1 every event answered 200 has one record, byte for byte, settled; I2 no record twice; I3 an event is applied once and
 * the version counts what was applied; I4 one receipt for a paid order, none otherwise; I5 access for a paid order, none
 * otherwise; I6 no effect without a record; I7 no record and no effect from a delivery that was refused.
 */
export async function closingCheck(
  stack: Pick<Stack, 'events' | 'orderRecords' | 'receipts'>,
  log: readonly SentEvent[],
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
    ...checkReceipts(orders, receipts),
  ]
}

const SETTLED = new Set(['done', 'unhandled'])

function checkEvent({ event, message, answers, corruption }: SentEvent, records: readonly EventRecord[]): string[] {
  const problems: string[] = []
  const accepted = answers.includes(200)
  if (corruption !== undefined && (accepted || records.length > 0))
    problems.push(`I7 ${event.id} is spoiled and was taken`)
  if (accepted && records.length === 0) problems.push(`I1 ${event.id} was answered 200 and has no record`)
  if (records.length > 1) problems.push(`I2 ${event.id} has ${records.length} records`)
  for (const { raw, state, reason } of records) {
    if (!Buffer.from(raw.buffer).equals(message.body)) problems.push(`I1 ${event.id} is stored with other bytes`)
    if (!SETTLED.has(state)) problems.push(`I1 ${event.id} is ${state} (${reason})`)
  }
  return problems
}

interface Evidence {
  readonly log: readonly SentEvent[]
  readonly recorded: ReadonlyMap<string, readonly EventRecord[]>
}

function checkOrder(order: OrderRecord, { log, recorded }: Evidence): string[] {
  const problems: string[] = []
  const markers = order.applied.map(({ eventId }) => eventId)
  const applied = order.applied.filter(({ outcome }) => outcome === 'applied').length
  if (new Set(markers).size !== markers.length) problems.push(`I3 an event is applied twice to ${order._id}`)
  if (order.version !== 1 + applied)
    problems.push(`I3 ${order._id} has version ${order.version} after ${applied} events`)
  const foreign = markers.filter((eventId) => !recorded.has(eventId))
  if (foreign.length > 0) problems.push(`I6 ${order._id} shows ${foreign} without a record`)

  const accepted = log.filter(({ event, answers }) => event.orderId === order._id && answers.includes(200))
  const isToBePaid = accepted.some(({ event }) => event.type === 'payment.succeeded')
  if ((order.status === 'paid') !== isToBePaid) problems.push(`I3 ${order._id} is ${order.status}`)
  if ((order.access === 'unlocked') !== isToBePaid) problems.push(`I5 ${order._id} is ${order.access}`)
  const due = accepted.filter(({ event }) => event.type.startsWith('payment.'))
  const lost = due.filter(({ event }) => !markers.includes(event.id))
  if (lost.length > 0) problems.push(`I1 ${lost.map(({ event }) => event.id)} left no trace on ${order._id}`)
  return problems
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
