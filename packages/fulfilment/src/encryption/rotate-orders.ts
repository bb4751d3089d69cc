import { type Encryption, isSealed, type Sealed } from '@oncehook/kernel/encryption'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import { type RotationPart, rewrapField, rotatePart } from '@oncehook/kernel/mongo/rotation'
import type { Db, Document } from 'mongodb'
import { isLive, ORDERS, type OrderDocument, type StoredReceipt } from '../orders/order-document.ts'
import { ENCRYPTED_MEMBERS, memberPlace, sealMembers } from '../orders/order-encryption.ts'

/** The database that holds the records, and their encryption. */
export interface RotationSource {
  readonly db: Db
  readonly encryption: Encryption
}

/** Where a slice of a rotation begins, and whether it changes anything. */
export interface RotationRequest {
  /** Id of the last record processed; null to start at the beginning. */
  readonly after: string | null
  readonly dryRun: boolean
}

const AT_ONCE = 200
const SEARCH_MS = 4_000

/**
 * Encrypts the personal data of a slice of the orders with the first key. This covers plaintext and data encrypted
 * with other keys. Order versions do not change, because readers see no difference.
 */
export async function rotateOrders(source: RotationSource, { after, dryRun }: RotationRequest): Promise<RotationPart> {
  const { db, encryption } = source
  const rows = await db
    .collection<OrderDocument>(ORDERS)
    .find(after === null ? {} : { _id: { $gt: after } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
    .project<OrderDocument>({ status: 1, email: 1, note: 1, metadata: 1, receipts: 1 })
    .sort({ _id: 1 })
    .limit(AT_ONCE)
    .toArray()
  return rotatePart({
    rows,
    atOnce: AT_ONCE,
    idOf: ({ _id }) => _id,
    rotate(order) {
      const statements = [...memberStatements(order, encryption), ...receiptStatements(order, encryption)]
      return statements.length === 0 ? 'current' : statements
    },
    send: dryRun ? null : (updates) => bulkUpdate(db, { update: ORDERS, updates }),
  })
}

/** One statement per field, so that concurrent changes are kept. */
function memberStatements(order: OrderDocument, encryption: Encryption): Document[] {
  if (!isLive(order)) return []
  return ENCRYPTED_MEMBERS.flatMap((member) => {
    const stored = order[member]
    if (isSealed(stored)) return rewrapped(order._id, { field: member, stored }, encryption)
    // Something else may have written what is no text, and no list. It stays.
    if (encryption.firstKey === null || !(member === 'metadata' ? Array.isArray(stored) : typeof stored === 'string'))
      return []
    const sealed = sealMembers(order._id, { [member]: stored }, encryption)
    return [{ q: { _id: order._id, [member]: { $eq: stored } }, u: { $set: sealed } }]
  })
}

interface StoredField {
  readonly field: string
  readonly stored: Sealed
}

function rewrapped(_id: string, { field, stored }: StoredField, encryption: Encryption): Document[] {
  const change = rewrapField(field, stored, encryption)
  return change === null ? [] : [{ q: { _id, ...change.demands }, u: { $set: change.sets } }]
}

/** Receipts are matched by key, because the worker may insert others before them. */
function receiptStatements({ _id, receipts }: OrderDocument, encryption: Encryption): Document[] {
  const entries: readonly (StoredReceipt | null)[] = Array.isArray(receipts) ? receipts : []
  return entries.flatMap((one) => {
    const { key, email } = one ?? {}
    if (typeof key !== 'string' || !(typeof email === 'string' || isSealed(email))) return []
    if (encryption.firstKey === null && !isSealed(email)) return []
    const next = isSealed(email)
      ? encryption.rewrap(email)
      : encryption.seal(Buffer.from(email), memberPlace(_id, 'email'))
    if (next === null) return []
    const renewed = isSealed(email) ? { ...email, ...next } : next
    return [
      {
        q: { _id, receipts: { $elemMatch: { key: { $eq: key }, email: { $eq: email } } } },
        u: { $set: { 'receipts.$[one].email': renewed } },
        arrayFilters: [{ 'one.key': key, 'one.email': { $eq: email } }],
      },
    ]
  })
}
