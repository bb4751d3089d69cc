import { recordAltered } from '@oncehook/kernel/http/error-codes'
import type { Logger } from '@oncehook/kernel/log/logger'
import { idempotencyInProgress, idempotencyKeyReused, orderNotFound, orderUnreadable } from '../errors.ts'
import {
  type IdempotencyKeys,
  type KeyedRequest,
  type KeyRow,
  UNREADABLE_ANSWER,
  withoutPerson,
} from '../idempotency-keys.ts'
import type { OrderDeps } from './change-order.ts'
import { type Order, type OrderContent, orderIdOf, parseOrderContent } from './order.ts'
import { isLive, madeBy, newOrder, toOrder, unstoredOrder } from './stored/order-document.ts'
import { openOrder } from './stored/order-encryption.ts'
import { insertOrder, isStored, readOrder } from './stored/order-store.ts'

export interface CreateDeps extends OrderDeps {
  readonly keys: IdempotencyKeys
  readonly logger: Logger
  readonly newRunId: () => string
}

/** A request to create an order with a generated id, optionally with an Idempotency-Key. */
export interface CreateRequest {
  /** The order as sent. It is validated after the key is checked. */
  readonly order: unknown
  readonly idempotency?: KeyedRequest | undefined
  /** The principal that creates it; null if unknown. */
  readonly principal?: string | null
  /** The unique id of the call, from which the order gets its id. */
  readonly callId: string
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
  const { order, idempotency, callId } = request
  if (idempotency === undefined) return makeOrder(deps, parseOrderContent(order), request)
  let content: OrderContent
  try {
    content = parseOrderContent(order)
  } catch (error) {
    // Key errors take precedence over body errors, and an invalid body never claims a key.
    const row = await deps.keys.find(idempotency)
    if (row !== null) return replay(row, idempotency)
    throw error
  }
  return runKeyed(deps, idempotency, { content, orderId: orderIdOf(callId) })
}

async function makeOrder(
  deps: CreateDeps,
  content: OrderContent,
  { callId, principal = null }: CreateRequest,
): Promise<Created> {
  const id = orderIdOf(callId)
  const made = await insertOrder(deps, unstoredOrder(id, content, principal))
  // Else the same call came before. Its order may have been changed or deleted since.
  const order = made ?? (await readOrder(deps.orders, id))
  if (!isLive(order)) throw orderNotFound()
  return { order: toOrder(openOrder(order, deps.encryption)), replayed: made === null }
}

async function runKeyed(
  deps: CreateDeps,
  request: KeyedRequest,
  { content, orderId }: { readonly content: OrderContent; readonly orderId: string },
): Promise<Created> {
  const fresh = { run: deps.newRunId(), orderId }
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
