import { recordAltered } from '@oncehook/kernel/http/error-codes'
import type { Logger } from '@oncehook/kernel/log/logger'
import { idempotencyInProgress, idempotencyKeyReused, orderUnreadable } from '../errors.ts'
import {
  type IdempotencyKeys,
  type KeyedRequest,
  type KeyRow,
  UNREADABLE_ANSWER,
  withoutPerson,
} from '../idempotency-keys.ts'
import type { OrderDeps } from './change-order.ts'
import { type Order, type OrderContent, parseOrderContent } from './order.ts'
import { madeBy, newOrder, toOrder, unstoredOrder } from './stored/order-document.ts'
import { openOrder } from './stored/order-encryption.ts'
import { insertOrder, isStored } from './stored/order-store.ts'

export interface CreateDeps extends OrderDeps {
  readonly keys: IdempotencyKeys
  readonly logger: Logger
  readonly newOrderId: () => string
  readonly newRunId: () => string
}

/** A request to create an order with a generated id, optionally with an Idempotency-Key. */
export interface CreateRequest {
  /** The order as sent. It is validated after the key is checked. */
  readonly order: unknown
  readonly idempotency?: KeyedRequest | undefined
  /** The principal that creates it; null if unknown. */
  readonly principal?: string | null
}

/** The order as it was created. `replayed` is true if an earlier request with the same key created it. */
export interface Created {
  readonly order: Order
  readonly replayed: boolean
}

/**
 * Creates an order, once per idempotency key. The key reserves the order id before the insert. A retry after a crash
 * in between inserts under the same id, or finds the order there.
 * @throws invalidRequest, idempotencyKeyReused, idempotencyInProgress, unavailable; orderUnreadable if the stored answer was
 * altered, or erased with the order
 */
export async function createOrder(deps: CreateDeps, request: CreateRequest): Promise<Created> {
  try {
    return await createOnce(deps, request)
  } catch (error) {
    // A repetition cannot help, and nothing is wrong with the service.
    throw recordAltered.is(error) ? orderUnreadable({}, { message: NO_ANSWER_LEFT, cause: error }) : error
  }
}

const NO_ANSWER_LEFT = 'The answer of this Idempotency-Key was altered, or its order was erased: use another key'

async function createOnce(deps: CreateDeps, request: CreateRequest): Promise<Created> {
  const { order, idempotency, principal = null } = request
  if (idempotency === undefined) {
    return { order: await makeOrder(deps, parseOrderContent(order), principal), replayed: false }
  }
  let content: OrderContent
  try {
    content = parseOrderContent(order)
  } catch (error) {
    // Key errors take precedence over body errors, and an invalid body never claims a key.
    const row = await deps.keys.find(idempotency)
    if (row !== null) return replay(row, idempotency)
    throw error
  }
  return runKeyed(deps, idempotency, content)
}

async function makeOrder(deps: CreateDeps, content: OrderContent, principal: string | null): Promise<Order> {
  const made = await insertOrder(deps, unstoredOrder(deps.newOrderId(), content, principal))
  if (made === null) throw new Error('The generated order id is already in use')
  return toOrder(openOrder(made, deps.encryption))
}

async function runKeyed(deps: CreateDeps, request: KeyedRequest, content: OrderContent): Promise<Created> {
  const fresh = { run: deps.newRunId(), orderId: deps.newOrderId() }
  try {
    const row = await deps.keys.claim(request, fresh)
    const isOurs = row.run === fresh.run
    if (!isOurs && !(await isMadeUnanswered(deps, row, request))) return replay(row, request)
    // Uses the time stored with the key, which also comes from the database clock: the answer must be the same if the
    // order already exists.
    const document = { ...newOrder(row.orderId, content, row.createdAt), ...madeBy(request.principal) }
    // No insert means that an earlier run of this request died after inserting the order under the reserved id.
    if (isOurs) await insertOrder(deps, document)
    const answer = await deps.keys.finish(row, JSON.stringify(toOrder(document)), content.customerId)
    return { order: readAnswer(row, answer), replayed: !isOurs }
  } catch (error) {
    if (!idempotencyKeyReused.is(error) && !idempotencyInProgress.is(error)) releaseLater(deps, request, fresh.run)
    throw error
  }
}

/**
 * Whether another run of this request has created the order without storing its answer yet, because it died or is
 * still running. The answer is known in this case, so there is no need to wait for its lease to end.
 */
async function isMadeUnanswered(deps: CreateDeps, row: KeyRow, request: KeyedRequest): Promise<boolean> {
  if (row.answer !== undefined || row.fingerprint !== request.fingerprint) return false
  return await isStored(deps.orders, row.orderId)
}

const NO_ORDER = withoutPerson(UNREADABLE_ANSWER)

function replay(row: KeyRow, request: KeyedRequest): Created {
  if (row.fingerprint !== request.fingerprint) throw idempotencyKeyReused()
  if (row.answer === undefined) throw idempotencyInProgress({}, { headers: { 'Retry-After': '1' } })
  return { order: readAnswer(row, row.answer), replayed: true }
}

function readAnswer({ orderId }: KeyRow, answer: string): Order {
  // The order was erased, and its answer was altered or not stored yet: nothing is left of it.
  if (answer === NO_ORDER) throw recordAltered({ orderId })
  return JSON.parse(answer) as Order
}

// Not awaited: the answer must not be delayed. If the release fails, the lease lapses.
function releaseLater({ keys, logger }: CreateDeps, request: KeyedRequest, run: string): void {
  keys.release(request, run).catch((error: unknown) => logger.warn({ error }, 'idempotency.release-failed'))
}
