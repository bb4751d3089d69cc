// What a client may do to an order that exists: put, patch and delete. All three read the order, check the precondition of the
// request against it, decide, and write only if the version is still the one that was read; a writer that lost repeats
// (`retryOnConflict`). A deletion leaves a tombstone, so that an order made again under the id goes on with the next version
// and knows the payments of the former one.
import { isDeepStrictEqual } from 'node:util'
import { invalidRequest, preconditionFailed, preconditionRequired } from '@oncehook/kernel/http/error-codes'
import { isObject } from '@oncehook/kernel/http/json'
import { type Preconditions, readPreconditions } from '@oncehook/kernel/http/preconditions'
import { idMismatch, orderNotFound, orderPaid, orderUnreadable, patchUnprocessable } from '../errors.ts'
import { type Order, type OrderContent, orderContentSchema, parseOrderContent } from './order.ts'
import {
  contentOf,
  forgottenReceipt,
  INITIAL_STATE,
  isForeign,
  isLive,
  type LiveOrder,
  madeBy,
  mapReceipts,
  NAME_FORMER_CUSTOMERS,
  OPTIONAL_MEMBERS,
  type OrderDocument,
  storedContent,
  type Tombstone,
  toOrder,
  unstoredOrder,
} from './stored/order-document.ts'
import { demandReadable, openOrder, sealMembers } from './stored/order-encryption.ts'
import {
  insertOrder,
  MADE_NOW,
  type OrderCollection,
  readOrder,
  retryOnConflict,
  updateOrder,
} from './stored/order-store.ts'

export interface OrderDeps extends OrderCollection {
  readonly random: () => number
}

/** A request to replace an order completely, or to create it under the id given by the caller. */
export interface PutRequest extends Preconditions, ByPrincipal {
  readonly id: string
  /** The order as sent. It is validated after the preconditions (RFC 9110 section 13.2.1). */
  readonly order: unknown
}

/**
 * Creates or replaces an order as defined in RFC 9110 section 9.3.4. Omitted properties are removed, an equal order
 * changes nothing, and a deleted id continues with the next version. Exactly one of several equal parallel calls
 * reports that it created the order.
 * @throws orderUnreadable, preconditionFailed, invalidRequest, idMismatch, orderNotFound for an order of another
 * principal, orderPaid, unavailable; in this order
 */
export function putOrder(deps: OrderDeps, request: PutRequest): Promise<{ order: Order; created: boolean }> {
  const check = readConditions(request)
  return retryOnConflict(deps.random, async () => {
    const stored = await readOrder(deps.orders, request.id)
    // Until there is something to create, an order of another principal is answered as none.
    const found = isForeign(stored, request.owner) ? null : stored
    if (isLive(found)) demandReadable(found)
    check(isLive(found) ? found.version : null)
    const content = readContent(request)
    if (found !== stored) throw orderNotFound()
    const { principal = null } = request
    const answer = (order: LiveOrder | null, created: boolean): { order: Order; created: boolean } | null =>
      order === null ? null : { order: toOrder(openOrder(order, deps.encryption)), created }
    if (isLive(found)) return answer(await replaceContent(deps, found, { content, principal }), false)
    if (found !== null) return answer(await recreate(deps, found, { content, principal }), true)
    return answer(await insertOrder(deps, unstoredOrder(request.id, content, principal)), true)
  })
}

function readContent({ id, order }: PutRequest): OrderContent {
  const content = parseOrderContent(order)
  if (isObject(order) && Object.hasOwn(order, 'id') && order.id !== id) throw idMismatch()
  return content
}

/** An order created again under a deleted id. Everything is new except the permanent fields. */
async function recreate(
  { orders, encryption }: OrderDeps,
  tombstone: Tombstone,
  { content, principal }: { readonly content: OrderContent; readonly principal: string | null },
): Promise<LiveOrder | null> {
  const sealed = sealMembers(tombstone._id, storedContent(content), encryption)
  // The worker owns the receipts, so they are left as they are now.
  const members = { ...INITIAL_STATE, ...sealed, ...madeBy(principal), version: tombstone.version + 1 }
  const written = await updateOrder(orders, tombstone, [
    { $replaceWith: { $mergeObjects: ['$$ROOT', { $literal: members }, MADE_NOW] } },
    { $unset: principal === null ? ['deletedAt', 'createdBy', 'changedBy'] : ['deletedAt'] },
  ])
  return isLive(written) ? written : null
}

/** A request to change an order by JSON Merge Patch (RFC 7396). */
export interface PatchRequest extends ByPrincipal {
  readonly id: string
  /** The patch as sent. It is validated after the preconditions. */
  readonly patch: unknown
  readonly ifMatch: string | undefined
  readonly ifNoneMatch?: string | undefined
}

/**
 * Patches an order completely or not at all. A patch that results in an equal order changes nothing.
 * @throws orderNotFound, orderUnreadable, preconditionRequired, preconditionFailed, patchUnprocessable, orderPaid, in
 * this order
 */
export function patchOrder(deps: OrderDeps, request: PatchRequest): Promise<Order> {
  const check = readConditions(request)
  return retryOnConflict(deps.random, async () => {
    const found = await readOrder(deps.orders, request.id)
    if (!isLive(found) || isForeign(found, request.owner)) throw orderNotFound()
    demandReadable(found)
    if (request.ifMatch === undefined) throw preconditionRequired()
    check(found.version)
    const content = patchedContent(toOrder(openOrder(found, deps.encryption)), request.patch)
    const order = await replaceContent(deps, found, { content, principal: request.principal ?? null })
    return order === null ? null : toOrder(openOrder(order, deps.encryption))
  })
}

function patchedContent(order: Order, patch: unknown): OrderContent {
  if (!isObject(patch)) throw patchUnprocessable({}, { message: 'A merge patch must be an object' })
  const result = mergePatch(order, patch) as Record<string, unknown>
  const { changed, content } = splitPatched(order, result)
  if (changed !== undefined)
    throw patchUnprocessable({ member: changed }, { message: `The property ${changed} cannot be changed` })
  try {
    return parseOrderContent(content)
  } catch (error) {
    // An invalid result is the fault of the patch: 422 rather than 400 (RFC 5789 section 2.2).
    if (invalidRequest.is(error)) throw patchUnprocessable({}, { message: error.message, cause: error })
    throw error
  }
}

/** Separates what a caller may write from the other properties. `changed`: one of these that the patch changes. */
function splitPatched(order: Order, result: Record<string, unknown>) {
  const isFixed = (member: string): boolean => !Object.hasOwn(orderContentSchema.shape, member)
  const fixed = new Map(Object.entries(order).filter(([member]) => isFixed(member)))
  const [changed] = [...fixed].find(([member, value]) => !isDeepStrictEqual(result[member] ?? null, value)) ?? []
  const content = Object.fromEntries(Object.entries(result).filter(([member]) => !fixed.has(member)))
  return { changed, content }
}

export interface DeleteRequest extends Preconditions, ByPrincipal {
  readonly id: string
}

export const GONE = [
  'access',
  'customerId',
  'currency',
  'items',
  'amountDue',
  'email',
  'note',
  'metadata',
  'createdAt',
  'updatedAt',
]

/**
 * Deletes an order. Succeeds without a change if the order does not exist, whatever the precondition. The tombstone
 * keeps the version, payments, applied events and receipts. The customer is removed from sent receipts.
 * @throws orderNotFound if the owner is given and has never made this order, orderUnreadable if the version is damaged,
 * preconditionFailed
 */
export function deleteOrder(
  deps: OrderDeps,
  { id, owner, principal = null, ...conditions }: DeleteRequest,
): Promise<{ deleted: boolean }> {
  const check = readConditions(conditions)
  return retryOnConflict(deps.random, async () => {
    const found = await readOrder(deps.orders, id)
    // One answer for both: otherwise a principal could find out which ids others use.
    if (isForeign(found, owner) || (found === null && owner !== undefined)) throw orderNotFound()
    if (!isLive(found)) return { deleted: false }
    if (!Number.isSafeInteger(found.version)) throw orderUnreadable({ orderId: id })
    check(found.version)
    return (await leaveTombstone(deps, found, principal)) === null ? null : { deleted: true }
  })
}

function leaveTombstone(
  { orders }: OrderDeps,
  order: LiveOrder,
  principal: string | null,
): Promise<OrderDocument | null> {
  const by = changedBy(principal)
  const withoutPerson = {
    $cond: [
      { $eq: ['$$one.state', 'sent'] },
      forgottenReceipt('$$one'),
      { $mergeObjects: ['$$one', { forgetWhenSent: true }] },
    ],
  }
  return updateOrder(orders, order, [
    {
      $set: {
        ...{ status: 'deleted', deletedAt: '$$NOW', version: { $add: ['$version', 1] } },
        receipts: mapReceipts({ $literal: true }, withoutPerson),
        ...asLiterals(by.$set),
      },
    },
    { $unset: [...GONE, ...Object.keys(by.$unset)] },
    NAME_FORMER_CUSTOMERS,
  ])
}

/**
 * Replaces the content of a stored order if it still has the version that was read. Equal content changes nothing.
 * Resolves to null if a concurrent change won.
 * @throws orderPaid if the items or currency of a paid order would change
 */
async function replaceContent(
  { orders, encryption }: OrderCollection,
  read: LiveOrder,
  { content, principal }: { readonly content: OrderContent; readonly principal: string | null },
): Promise<LiveOrder | null> {
  const before = contentOf(openOrder(read, encryption))
  if (isDeepStrictEqual(before, content)) return read
  if (read.status === 'paid' && !isSamePrice(before, content)) throw orderPaid({ orderId: read._id })
  const by = changedBy(principal)
  const left = [...OPTIONAL_MEMBERS.filter((member) => content[member] === undefined), ...Object.keys(by.$unset)]
  const members = asLiterals({ ...sealMembers(read._id, storedContent(content), encryption), ...by.$set })
  const written = await updateOrder(orders, read, [
    { $set: { ...members, updatedAt: '$$NOW', version: { $add: ['$version', 1] } } },
    ...(left.length === 0 ? [] : [{ $unset: left }]),
    // Computed from the receipts in the same write, because they change without a new version.
    NAME_FORMER_CUSTOMERS,
  ])
  return isLive(written) ? written : null
}

function isSamePrice(one: OrderContent, other: OrderContent): boolean {
  return one.currency === other.currency && isDeepStrictEqual(one.items, other.items)
}

/** The principal on whose behalf an order is written, and the limit on the orders it may access. */
interface ByPrincipal {
  /** Null or absent if unknown. */
  readonly principal?: string | null
  /** Restricts access to the orders of this principal. Absent: all orders. */
  readonly owner?: string | undefined
}

/** Update operators that record who changed an order. An unknown principal also overwrites an earlier one. */
function changedBy(principal: string | null): { $set: object; $unset: Record<string, ''> } {
  return principal === null ? { $set: {}, $unset: { changedBy: '' } } : { $set: { changedBy: principal }, $unset: {} }
}

/** Fields for `$set` in a pipeline, as literals: a string that starts with `$` would be read as a field path. */
function asLiterals(members: object): Record<string, { readonly $literal: unknown }> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, { $literal: value }]))
}

/**
 * Parses the preconditions of a request once, so that several versions can be checked. Null means that nothing exists.
 * @throws invalidRequest at once for invalid syntax; the check throws preconditionFailed with the current version
 */
function readConditions(preconditions: Preconditions): (version: number | null) => void {
  const check = readPreconditions(preconditions)
  return (version) => {
    if (check(version) !== null) throw preconditionFailed({ version })
  }
}

/**
 * Applies a JSON Merge Patch (RFC 7396 section 2) without changing its arguments: null removes, objects merge, other
 * values replace. `__proto__` is an ordinary property. Own code, because `json-merge-patch` changes its target.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map<string, unknown>(isObject(target) ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, mergePatch(result.get(name), value))
  }
  return Object.fromEntries(result)
}
