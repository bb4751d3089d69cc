import { parseJson } from '@oncehook/kernel/http/json'
import { fromNow, leaseHasEnded } from '@oncehook/kernel/mongo/database-clock'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { isDuplicateKey, toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Encryption, Place, Sealed } from '@oncehook/kernel/secrets/encryption'
import type { Collection, Db } from 'mongodb'
import { DURABLE_READ, reachable } from './orders/stored/order-store.ts'

export const IDEMPOTENCY_KEYS = 'idempotency_keys'

/** A request with an Idempotency-Key. The key belongs to the principal, the fingerprint to the request. */
export interface KeyedRequest {
  readonly principal: string
  readonly key: string
  readonly fingerprint: string
}

/** The order id reserved by a key. Every run of the request uses it. */
interface Reservation {
  readonly orderId: string
  readonly createdAt: Date
}

/** The stored form of a key. All times come from the database clock. */
export interface IdempotencyRow extends Keyed, Reservation {
  /** May be encrypted: a hash of the request would let a reader of the database test guesses about it. */
  readonly fingerprint: string | Sealed
  readonly state: 'running' | 'done'
  readonly run: string
  readonly leaseUntil: Date
  /**
   * When the key becomes free again, even if the row still exists. Counts from the answer. A row without an answer
   * may be removed one year after its last claim.
   */
  readonly expiresAt: Date
  /** The JSON of the order as it was created; may be encrypted. */
  readonly answer?: string | Sealed
  /** The customer of the order, as long as the answer names the customer. */
  readonly customerId?: string | null
}

export interface KeyRow extends Omit<IdempotencyRow, 'fingerprint' | 'answer'> {
  readonly fingerprint: string
  readonly answer?: string
}

/** The indexes of the collection. The index on expiry only cleans up. */
export const IDEMPOTENCY_INDEXES: NeededIndexes = {
  collection: IDEMPOTENCY_KEYS,
  indexes: [
    { name: 'one_row_per_key', key: { principal: 1, key: 1 }, unique: true },
    { name: 'order', key: { orderId: 1 } },
    { name: 'customer', key: { customerId: 1 }, sparse: true },
    { name: 'expired', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  ],
}

/** How long a key is kept after its answer, and how long a run holds it, in milliseconds, and the encryption of answers. */
export interface KeyOptions {
  readonly ttlMs: number
  readonly leaseMs: number
  readonly encryption: Encryption
}

export type IdempotencyKeys = ReturnType<typeof createIdempotencyKeys>

/**
 * Creates the idempotency keys of a database. Its functions throw keyUnknown or recordAltered if an answer cannot be
 * decrypted.
 */
export function createIdempotencyKeys(db: Db, { encryption, ...times }: KeyOptions) {
  const rows = db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
  const open = (row: IdempotencyRow): KeyRow => openRow(row, encryption)
  const claimBy = async (request: KeyedRequest, claiming: Claiming): Promise<IdempotencyRow> => {
    const pipeline = claimPipeline(request, claiming, times)
    try {
      return await claim(rows, pipeline, request)
    } catch (error) {
      // Two first requests arrived at once. The unique index admitted one, so the row exists now.
      if (isDuplicateKey(error)) return await claim(rows, pipeline, request)
      throw toUnavailable(error) ?? error
    }
  }
  return {
    /**
     * Claims the key for a run if it is free or expired, or if the lease of an earlier run of the same request has lapsed. Returns
     * the row afterwards. The caller holds the key if `run` is the run it passed.
     */
    async claim(request: KeyedRequest, fresh: { run: string; orderId: string }): Promise<KeyRow> {
      const { fingerprint } = request
      const stored = encryption.seal(Buffer.from(fingerprint), fingerprintPlace(request)) ?? fingerprint
      const row = await claimBy(request, { ...fresh, stored, same: fingerprint })
      const found = open(row)
      const isOver = found.run === fresh.run || found.state === 'done' || found.fingerprint !== fingerprint
      if (typeof row.fingerprint === 'string' || isOver) return found
      // The database cannot compare encrypted fingerprints. Now it takes over from the run whose fingerprint this was.
      return open(await claimBy(request, { ...fresh, stored, same: row.fingerprint }))
    },
    /** The row of a key that has not expired, or null if the key is free. */
    async find(request: KeyedRequest): Promise<KeyRow | null> {
      const live = { $expr: { $not: [EXPIRED] } }
      const row = await reachable(() => rows.findOne({ ...ofKey(request), ...live }, DURABLE_READ))
      return row === null ? null : open(row)
    },
    /**
     * Stores the answer unless another run of the same request has stored one, or an erasure has closed the key. Returns the stored
     * answer.
     */
    async finish(row: KeyRow, answer: string, customerId?: string): Promise<string> {
      const stored = encryption.seal(Buffer.from(answer), answerPlace(row)) ?? answer
      const stands = { $ifNull: ['$answer', { $literal: stored }] }
      const whose = { $cond: [UNANSWERED, { $literal: customerId ?? null }, '$customerId'] }
      const expiresAt = { $cond: [UNANSWERED, fromNow(times.ttlMs), '$expiresAt'] }
      const finished = await reachable(() =>
        rows.findOneAndUpdate(
          { ...ofKey(row), orderId: row.orderId },
          [{ $set: { state: 'done', answer: stands, customerId: whose, expiresAt } }],
          { returnDocument: 'after' },
        ),
      )
      return (finished === null ? null : open(finished).answer) ?? answer
    },
    /** Lets the next request take over from this run at once. */
    async release(request: KeyedRequest, run: string): Promise<void> {
      await rows.updateOne({ ...ofKey(request), run, state: 'running' }, { $set: { leaseUntil: new Date(0) } })
    },
  }
}

type Keyed = Pick<KeyedRequest, 'principal' | 'key'>

/** @throws keyUnknown, recordAltered */
function openRow(row: IdempotencyRow, encryption: Encryption): KeyRow {
  const { fingerprint, ...others } = row
  const isClear = typeof fingerprint === 'string'
  return {
    ...openAnswer(others, encryption),
    fingerprint: isClear ? fingerprint : encryption.open(fingerprint, fingerprintPlace(row)).toString(),
  }
}

/** The location of a fingerprint, which its encryption is bound to. */
export function fingerprintPlace(keyed: Keyed): Place {
  return { ...answerPlace(keyed), field: 'fingerprint' }
}

/** @throws keyUnknown, recordAltered */
export function openAnswer<Row extends Keyed & Pick<IdempotencyRow, 'answer'>>(
  row: Row,
  encryption: Encryption,
): Omit<Row, 'answer'> & { readonly answer?: string } {
  const { answer, ...others } = row
  if (answer === undefined) return others
  return {
    ...others,
    answer: typeof answer === 'string' ? answer : encryption.open(answer, answerPlace(row)).toString(),
  }
}

/** The location of an answer, which its encryption is bound to. */
export function answerPlace({ principal, key }: Keyed): Place {
  return { collection: IDEMPOTENCY_KEYS, id: JSON.stringify([principal, key]), field: 'answer' }
}

function ofKey({ principal, key }: Keyed) {
  return { principal: { $eq: principal }, key: { $eq: key } }
}

const UNANSWERED = { $eq: [{ $type: '$answer' }, 'missing'] }
// Keep the key until then, even if the date is far ahead: it prevents a second order from a repeated request. A key
// without an answer never expires, even if its run is dead, because a retry would create a second order.
const EXPIRED = { $and: [{ $eq: ['$state', 'done'] }, { $lte: ['$expiresAt', '$$NOW'] }] }
const ABSENT = { $eq: [{ $type: '$run' }, 'missing'] }

// Long after any retry.
const UNANSWERED_TTL_MS = 365 * 86_400_000

interface Claiming {
  readonly run: string
  readonly orderId: string
  readonly stored: string | Sealed
  /** The fingerprint as a row has it from which this run may take over. */
  readonly same: string | Sealed
}

/** A single statement on the database clock decides, so that two runs can never hold the same key. */
function claimPipeline(request: KeyedRequest, fresh: Claiming, times: Omit<KeyOptions, 'encryption'>): object[] {
  const lease = {
    run: { $literal: fresh.run },
    leaseUntil: fromNow(times.leaseMs),
    expiresAt: fromNow(UNANSWERED_TTL_MS),
  }
  const row = {
    _id: '$_id',
    principal: { $literal: request.principal },
    key: { $literal: request.key },
    fingerprint: { $literal: fresh.stored },
    orderId: { $literal: fresh.orderId },
    createdAt: '$$NOW',
    state: 'running',
    ...lease,
  }
  const sameDead = {
    $and: [
      { $eq: ['$state', 'running'] },
      leaseHasEnded(times.leaseMs),
      { $eq: ['$fingerprint', { $literal: fresh.same }] },
    ],
  }
  const kept = { $cond: [sameDead, { $mergeObjects: ['$$ROOT', lease] }, '$$ROOT'] }
  return [{ $replaceWith: { $cond: [{ $or: [ABSENT, EXPIRED] }, row, kept] } }]
}

async function claim(
  rows: Collection<IdempotencyRow>,
  pipeline: object[],
  request: KeyedRequest,
): Promise<IdempotencyRow> {
  const row = await rows.findOneAndUpdate(ofKey(request), pipeline, { upsert: true, returnDocument: 'after' })
  if (row === null) throw new Error('The upsert returned no row')
  return row
}

/** Replaces an answer that cannot be read, or is not stored yet. It names no customer, and is erased like any other. */
export const UNREADABLE_ANSWER = ''

// Still valid against the order schema, which requires a customer.
const ERASED = 'erased'

export function customerOf(answer: string): string | null {
  const { customerId } = parse(answer)
  return typeof customerId === 'string' && customerId !== ERASED ? customerId : null
}

/** A stored idempotency answer without personal data, still valid against the order schema. */
export function withoutPerson(answer: string): string {
  const { email: _, note: __, metadata: ___, ...order } = parse(answer)
  return JSON.stringify({ ...order, customerId: ERASED })
}

// Something else may have written what is no JSON.
function parse(answer: string): Readonly<Record<string, unknown>> {
  const order = parseJson(answer)
  return typeof order === 'object' && order !== null ? { ...order } : {}
}
