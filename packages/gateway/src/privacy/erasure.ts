import { hash } from 'node:crypto'
import { toAppError } from '@oncehook/kernel/http/errors'
import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import { AS_WRITTEN } from '@oncehook/kernel/mongo/majority'
import { z } from 'zod'
import { eraseUnsettled } from '../errors.ts'
import { callFulfilment } from '../http/fulfilment-client.ts'
import {
  type EventsToErase,
  eraseEvents,
  findErasableEvents,
  isBodyAwaited,
  isSettled,
  MOST_EVENTS,
} from '../inbox/retention/erase-events.ts'
import { inputText, reasonSchema } from '../operator/input-text.ts'
import { changingProcedure, type OperatorContext } from '../operator/operator-trpc.ts'
import { REPLAYS, type ReplayDocument } from '../operator/replays/replays.ts'

const text = inputText(255)
const how = { reason: reasonSchema, dryRun: z.boolean().default(false) }

const eraseSchema = z.union([
  z.strictObject({
    orderId: z
      .string()
      .max(128)
      .regex(/^[A-Za-z0-9._~-]+$/),
    ...how,
  }),
  z.strictObject({ customerId: text, ...how }),
  z.strictObject({ provider: text, eventId: text, ...how }),
])

type Erasure = z.output<typeof eraseSchema>

/**
 * `erase`: removes the data of an order, of a customer's orders or of one event from both databases, except keys and
 * hashes. If part of it, or of a delivery that it shares, is in progress, the call is refused before anything is changed. If
 * something is stored or made due again during the call, the rest is erased, and the call is refused afterwards: the
 * message says so. Another call completes an interrupted one; `more` means that one call was not enough. `orders` are the orders found: later events of a deleted
 * order can only be found by its id. The audit log has an entry of every call, even if nothing was found or erased.
 */
export const eraseProcedure = changingProcedure.input(eraseSchema).mutation(async ({ ctx, input }) => {
  const entry = { by: ctx.operator, action: 'erase', reason: input.reason } as const
  const whose = named(input)
  let details: Readonly<Record<string, unknown>> = whose
  let isBegun = false
  // The answer says whether a person is a customer.
  if (input.dryRun) await ctx.audit.record({ ...entry, details: { ...whose, dryRun: true } })
  try {
    const found = await findAll(ctx, input)
    const answer = { matched: found.events.length + found.orders.length, orders: found.orders.map(({ id }) => id) }
    if (input.dryRun) return { ...answer, erased: 0, more: false }
    details = { ...whose, ...detailsOf(found, input) }
    await refuseUnsettled(ctx, found)
    // The entry of the audit log comes first. After a crash in between, nothing is erased without an entry.
    await ctx.audit.record({ ...entry, details })
    isBegun = true
    const erased = await eraseAll(ctx, { found, input })
    const count = { events: found.events.length, orders: found.orders.length, erased }
    ctx.logger.info({ requestId: ctx.requestId, by: ctx.operator, ...whose, ...count }, 'personal-data.erased')
    return { ...answer, erased, more: found.isFull }
  } catch (error) {
    const { code, status } = toAppError(error)
    const end = isBegun && status >= 500 ? 'unanswered' : 'refused'
    await ctx.audit.record({ ...entry, details: { ...details, [end]: code } })
    throw error
  }
})

const MOST_NAMED = 20

/**
 * What the audit log keeps of what was found. Nothing else leads from a customer to their deleted orders if the answer is lost, or to
 * a payment that had no effect.
 */
function detailsOf({ events, orders }: Found, input: Erasure): Readonly<Record<string, unknown>> {
  const dead = events.filter(({ state }) => state === 'dead').map(({ provider, eventId }) => ({ provider, eventId }))
  return {
    ...{ events: events.length, orders: orders.length },
    ...('customerId' in input ? { orderIds: orders.map(({ id }) => id) } : {}),
    ...(dead.length === 0 ? {} : { dead: dead.slice(0, MOST_NAMED), deadEvents: dead.length }),
  }
}

interface Found {
  readonly meant: EventsToErase
  readonly events: Awaited<ReturnType<typeof findErasableEvents>>
  readonly orders: readonly { readonly id: string; readonly isSettled: boolean }[]
  /** Whether there may be more than one call can erase. */
  readonly isFull: boolean
}

async function findAll(ctx: OperatorContext, input: Erasure): Promise<Found> {
  if ('eventId' in input) {
    const { provider, eventId } = input
    const meant = { provider, eventId }
    const events = await findErasableEvents(ctx.db, meant)
    return { meant, events, orders: [], isFull: false }
  }
  const whose = 'customerId' in input ? { customerId: input.customerId } : { orderIds: [input.orderId] }
  // Not in the URL: the id of a customer is often an email address.
  const context = { requestId: ctx.requestId, byPost: true }
  const { orders } = await callFulfilment(ctx.fulfilment.erasures.find.query(whose, { context }))
  const orderIds = 'orderId' in input ? [input.orderId] : orders.map(({ id }) => id)
  const meant = { orderIds }
  const events = await findErasableEvents(ctx.db, meant)
  // As long as an order has events left, it is needed to find them.
  const isFull = events.length === MOST_EVENTS
  const found = { meant, events, orders: isFull ? [] : orders }
  return { ...found, isFull: isFull || ('customerId' in input && orders.length > 0) }
}

async function refuseUnsettled(ctx: OperatorContext, { events, orders }: Found): Promise<void> {
  if (!events.every(isSettled) || orders.some((order) => !order.isSettled)) throw eraseUnsettled()
  await refuseAwaited(ctx.db, events)
  if (await isBackfilling(ctx)) throw eraseUnsettled({}, { message: BACKFILL_RUNS })
}

async function refuseAwaited(...awaited: Parameters<typeof isBodyAwaited>): Promise<void> {
  if (await isBodyAwaited(...awaited)) throw eraseUnsettled({}, { message: BODY_AWAITED })
}

const BACKFILL_RUNS = 'A backfill may have read the event: erase again when no backfill has run for a minute'
const PARTLY_ERASED =
  'A part is erased, but an event was stored or became due again meanwhile, or a backfill began: erase again when no backfill has run for a minute'
const RECEIPT_OWED = 'A part is erased, but a receipt became due again meanwhile: erase again when it is sent'
const BODY_AWAITED =
  'Another event of the same delivery is not settled yet and needs its body: erase again when that event is settled'

/** Fulfilment comes last, because its orders lead to the events of a customer if this is repeated. */
async function eraseAll(
  ctx: OperatorContext,
  { found, input }: { readonly found: Found; readonly input: Erasure },
): Promise<number> {
  const { events, orders } = found
  // A redelivery or a replay may have come meanwhile.
  await refuseAwaited(ctx.db, events)
  const erased = await eraseEvents(ctx.db, events)
  const isPartly = erased < events.length || (await isBackfilling(ctx)) || (await isAnyLeft(ctx, found))
  if (isPartly) throw eraseUnsettled({}, { message: PARTLY_ERASED })
  if (orders.length === 0) return erased
  const context = { requestId: ctx.requestId }
  const orderIds = orders.map(({ id }) => id)
  const whose = 'customerId' in input ? { customerId: input.customerId } : {}
  const asked = callFulfilment(ctx.fulfilment.erasures.erase.mutate({ orderIds, ...whose }, { context }))
  const answer = await asked.catch((error: unknown) => {
    throw eraseUnsettled.is(error) ? eraseUnsettled({}, { message: RECEIPT_OWED, cause: error }) : error
  })
  return erased + answer.erased
}

/** Whether there is an event now that was not erased. If one call was not enough, the next one finds it. */
async function isAnyLeft({ db }: OperatorContext, { meant, events }: Found): Promise<boolean> {
  return events.length < MOST_EVENTS && (await findErasableEvents(db, meant)).length > 0
}

/** What the audit log keeps of the input. Of a customer it keeps only a hash. */
function named(input: Erasure): Readonly<Record<string, string>> {
  if ('customerId' in input) return { customerHash: hash('sha256', input.customerId) }
  if ('orderId' in input) return { orderId: input.orderId }
  return { provider: input.provider, eventId: input.eventId }
}

// A process may still hold events of a backfill that was cancelled, or that another process has finished.
const HELD_MS = 60_000

/**
 * Whether there is a backfill that runs, or ended a moment ago. It may have read any event, and insert a task of it later. A backfill
 * that starts after the erasure does not find the event.
 */
async function isBackfilling({ db }: OperatorContext): Promise<boolean> {
  const isRecent = { $or: [{ $eq: ['$finishedAt', null] }, { $gte: ['$finishedAt', fromNow(-HELD_MS)] }] }
  const filter = { handler: { $exists: true }, $expr: isRecent }
  const options = { projection: { _id: 1 }, maxTimeMS: 4_000, ...AS_WRITTEN } as const
  return (await db.collection<ReplayDocument>(REPLAYS).findOne(filter, options)) !== null
}
