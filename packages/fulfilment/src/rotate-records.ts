// A new key for what is stored encrypted: the personal data of orders, and the answers and fingerprints of idempotency keys. The gateway
// asks for a slice at a time and says where the last one ended, so a rotation can stop anywhere and be repeated. Each value
// is written only if it is still the one that was read, one statement per value, so that it never undoes a change.

import type { Logger } from '@oncehook/kernel/log/logger'
import { bulkUpdate } from '@oncehook/kernel/mongo/bulk-update'
import {
  type RotationPart,
  rewrapField,
  rotatePart,
  rotateValues,
  type ValueRotation,
} from '@oncehook/kernel/mongo/rotation'
import { type Encryption, type Place, wasSealed } from '@oncehook/kernel/secrets/encryption'
import { type Db, type Document, ObjectId, type WithId } from 'mongodb'
import { answerPlace, fingerprintPlace, IDEMPOTENCY_KEYS, type IdempotencyRow } from './idempotency-keys.ts'
import {
  isLive,
  type LiveOrder,
  ORDERS,
  type OrderDocument,
  type StoredReceipt,
} from './orders/stored/order-document.ts'
import { ENCRYPTED_MEMBERS, memberPlace, sealMembers } from './orders/stored/order-encryption.ts'

export interface RotationSource {
  readonly db: Db
  readonly encryption: Encryption
  readonly logger: Logger
}

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
  const { db, encryption, logger } = source
  const rows = await db
    .collection<OrderDocument>(ORDERS)
    .find(after === null ? {} : { _id: { $gt: after } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
    .project<OrderDocument>(ROTATED)
    .sort({ _id: 1 })
    .limit(AT_ONCE)
    .toArray()
  return rotatePart({
    rows,
    atOnce: AT_ONCE,
    idOf: ({ _id }) => _id,
    rotate: (order) => [...memberRotations(order, encryption), ...receiptRotations(order, encryption)],
    onAltered: (id) => logger.error({ collection: ORDERS, id }, 'encryption.record-altered'),
    send: dryRun ? null : (updates) => rotateWithReceipts(source, updates),
  })
}

const ROTATED = { status: 1, email: 1, note: 1, metadata: 1, receipts: 1 }

/**
 * Sends the statements, and reads their orders again: a payment or an operator may have copied the former address of an
 * order into a receipt since it was read. After the statements, nobody copies anything but the new one.
 */
async function rotateWithReceipts({ db, encryption }: RotationSource, updates: readonly Document[]): Promise<void> {
  await bulkUpdate(db, { update: ORDERS, updates })
  const ids: readonly string[] = [...new Set(updates.map(({ q }) => q._id))]
  const orders = await db
    .collection<OrderDocument>(ORDERS)
    .find({ _id: { $in: [...ids] } }, { maxTimeMS: SEARCH_MS })
    .project<OrderDocument>(ROTATED)
    .toArray()
  const late = await Promise.all(orders.map((order) => rotateValues(receiptRotations(order, encryption))))
  await bulkUpdate(db, { update: ORDERS, updates: late.flatMap(({ statements }) => statements) })
}

/** One statement per field, so that concurrent changes are kept. */
function memberRotations(order: OrderDocument, encryption: Encryption): ValueRotation[] {
  if (!isLive(order)) return []
  return ENCRYPTED_MEMBERS.map((member) => () => rotateMember(order, member, encryption))
}

function rotateMember(
  order: LiveOrder,
  member: (typeof ENCRYPTED_MEMBERS)[number],
  encryption: Encryption,
): Document[] {
  const stored = order[member]
  if (wasSealed(stored)) {
    const change = rewrapField(member, stored, encryption)
    return change === null ? [] : [{ q: { _id: order._id, ...change.demands }, u: { $set: change.sets } }]
  }
  // Another program may have written a value of another type. Leave it alone.
  const isClear = member === 'metadata' ? Array.isArray(stored) : typeof stored === 'string'
  if (encryption.firstKey === null || !isClear) return []
  const sealed = sealMembers(order._id, { [member]: stored }, encryption)
  return [{ q: { _id: order._id, [member]: { $eq: stored } }, u: { $set: sealed } }]
}

/** Receipts are matched by key, because the worker may insert others before them. */
function receiptRotations({ _id, receipts }: OrderDocument, encryption: Encryption): ValueRotation[] {
  const entries: readonly (StoredReceipt | null)[] = Array.isArray(receipts) ? receipts : []
  return entries.map((one) => () => {
    const { key, email } = one ?? {}
    if (typeof key !== 'string') return []
    const renewed = renewAddress(_id, email, encryption)
    if (renewed === null) return []
    return [
      {
        q: { _id, receipts: { $elemMatch: { key: { $eq: key }, email: { $eq: email } } } },
        u: { $set: { 'receipts.$[one].email': renewed } },
        arrayFilters: [{ 'one.key': key, 'one.email': { $eq: email } }],
      },
    ]
  })
}

/** Null where there is nothing to encrypt, or it is by the first key. */
function renewAddress(orderId: string, email: unknown, encryption: Encryption): object | null {
  if (typeof email === 'string') return encryption.seal(Buffer.from(email), memberPlace(orderId, 'email'))
  if (!wasSealed(email)) return null
  const next = encryption.rewrap(email)
  return next === null ? null : { ...email, ...next }
}

type Row = WithId<Pick<IdempotencyRow, 'principal' | 'key' | 'answer' | 'fingerprint'>>

/** Encrypts the answers and fingerprints of a slice of the idempotency keys with the first key, in the same way as `rotateOrders`. */
export async function rotateAnswers(source: RotationSource, { after, dryRun }: RotationRequest): Promise<RotationPart> {
  const { db, encryption, logger } = source
  const rows = await db
    .collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
    .find(after === null ? {} : { _id: { $gt: new ObjectId(after) } }, { hint: { _id: 1 }, maxTimeMS: SEARCH_MS })
    .project<Row>({ principal: 1, key: 1, answer: 1, fingerprint: 1 })
    .sort({ _id: 1 })
    .limit(AT_ONCE)
    .toArray()
  return rotatePart({
    rows,
    atOnce: AT_ONCE,
    idOf: ({ _id }) => _id.toHexString(),
    rotate: (row) => [
      () => rotateText(row, { field: 'answer', place: answerPlace(row), encryption }),
      () => rotateText(row, { field: 'fingerprint', place: fingerprintPlace(row), encryption }),
    ],
    onAltered: (id) => logger.error({ collection: IDEMPOTENCY_KEYS, id }, 'encryption.record-altered'),
    send: dryRun ? null : (updates) => bulkUpdate(db, { update: IDEMPOTENCY_KEYS, updates }),
  })
}

interface TextRotation {
  readonly field: 'answer' | 'fingerprint'
  readonly place: Place
  readonly encryption: Encryption
}

function rotateText(row: Row, { field, place, encryption }: TextRotation): readonly Document[] {
  const { _id, [field]: stored } = row
  if (wasSealed(stored)) {
    const change = rewrapField(field, stored, encryption)
    return change === null ? [] : [{ q: { _id, ...change.demands }, u: { $set: change.sets } }]
  }
  // There is none, or another program wrote it.
  if (typeof stored !== 'string' || encryption.firstKey === null) return []
  const sealed = encryption.seal(Buffer.from(stored), place)
  return [{ q: { _id, [field]: { $eq: stored } }, u: { $set: { [field]: sealed } } }]
}
