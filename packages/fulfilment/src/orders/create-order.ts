import type { Logger } from '@oncehook/kernel/logger'
import { idempotencyInProgress, idempotencyKeyReused } from '../errors.ts'
import type { IdempotencyKeys, KeyedRequest, KeyRow } from '../idempotency-keys.ts'
import { type Order, type OrderContent, parseOrderContent } from './order.ts'
import { madeBy, newOrder, toOrder, unstoredOrder } from './order-document.ts'
import { openOrder } from './order-encryption.ts'
import { insertOrder, isStored } from './order-store.ts'
import type { OrderDeps } from './put-order.ts'

/** What making orders works with. */
export interface CreateDeps extends OrderDeps {
  readonly keys: IdempotencyKeys
  readonly logger: Logger
  readonly newOrderId: () => string
  /** Makes a name for each run under an idempotency key. */
  readonly newRunId: () => string
}

/** An order to be made under an id of ours, perhaps under an Idempotency-Key. */
export interface CreateRequest {
  /** The order as sent: it is looked at after the key. */
  readonly order: unknown
  readonly idempotency?: KeyedRequest | undefined
  /** For whom; null where it is not known. */
  readonly principal?: string | null
}

/** The order as it was made; `replayed` when an earlier request with the same key made it. */
export interface Created {
  readonly order: Order
  readonly replayed: boolean
}

/**
 * Makes an order, once for each idempotency key. The key reserves the id before the order is inserted, so a crash
 * between the two heals at the retry: it inserts under the same id, or finds it there.
 * @throws invalidRequest, idempotencyKeyReused, idempotencyInProgress, unavailable
 */
export async function createOrder(deps: CreateDeps, request: CreateRequest): Promise<Created> {
  const { order, idempotency, principal = null } = request
  if (idempotency === undefined) {
    return { order: await makeOrder(deps, parseOrderContent(order), principal), replayed: false }
  }
  let content: OrderContent
  try {
    content = parseOrderContent(order)
  } catch (error) {
    // What the key says comes before what the body says, and an invalid body never takes a key.
    const row = await deps.keys.find(idempotency)
    if (row !== null) return replay(row, idempotency)
    throw error
  }
  return runKeyed(deps, idempotency, content)
}

async function makeOrder(deps: CreateDeps, content: OrderContent, principal: string | null): Promise<Order> {
  const made = await insertOrder(deps, unstoredOrder(deps.newOrderId(), content, principal))
  if (made === null) throw new Error('A random order id is taken')
  return toOrder(openOrder(made, deps.encryption))
}

async function runKeyed(deps: CreateDeps, request: KeyedRequest, content: OrderContent): Promise<Created> {
  const fresh = { run: deps.newRunId(), orderId: deps.newOrderId() }
  try {
    const row = await deps.keys.claim(request, fresh)
    const isOurs = row.run === fresh.run
    if (!isOurs && !(await isMadeUnanswered(deps, row, request))) return replay(row, request)
    // The database's time too, but that of the key: the answer must be known where the order is there already.
    const document = { ...newOrder(row.orderId, content, row.createdAt), ...madeBy(request.principal) }
    // Not inserted: an earlier run of this request died after it had inserted the order under the reserved id.
    if (isOurs) await insertOrder(deps, document)
    const answer = await deps.keys.finish(row, JSON.stringify(toOrder(document)), content.customerId)
    return { order: JSON.parse(answer) as Order, replayed: !isOurs }
  } catch (error) {
    if (!idempotencyKeyReused.is(error) && !idempotencyInProgress.is(error)) releaseLater(deps, request, fresh.run)
    throw error
  }
}

/**
 * Whether another run of this request has made the order and not stored its answer: it died in between, or is about to.
 * The answer is known then, so nobody waits for the end of its lease.
 */
async function isMadeUnanswered(deps: CreateDeps, row: KeyRow, request: KeyedRequest): Promise<boolean> {
  if (row.answer !== undefined || row.fingerprint !== request.fingerprint) return false
  return await isStored(deps.orders, row.orderId)
}

function replay(row: KeyRow, request: KeyedRequest): Created {
  if (row.fingerprint !== request.fingerprint) throw idempotencyKeyReused()
  if (row.answer === undefined) throw idempotencyInProgress({}, { headers: { 'Retry-After': '1' } })
  return { order: JSON.parse(row.answer) as Order, replayed: true }
}

// Not waited for: the caller's answer is due, and where this fails the lease lapses by itself.
function releaseLater({ keys, logger }: CreateDeps, request: KeyedRequest, run: string): void {
  keys.release(request, run).catch((error: unknown) => logger.warn({ error }, 'idempotency.release-failed'))
}
