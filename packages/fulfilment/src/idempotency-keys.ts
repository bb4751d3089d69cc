import { type Encryption, isSealed, type Place, type Sealed } from '@oncehook/kernel/encryption'
import { CLOCK_STEP_MS } from '@oncehook/kernel/mongo/clock-step'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import { isDuplicateKey, toUnavailable } from '@oncehook/kernel/mongo/write-outcome'
import type { Collection, Db } from 'mongodb'
import { DURABLE_READ } from './durable-read.ts'

/** The collection of idempotency keys. */
export const IDEMPOTENCY_KEYS = 'idempotency_keys'

/** One request under an Idempotency-Key: the key belongs to its principal, the fingerprint to the request. */
export interface KeyedRequest {
  readonly principal: string
  readonly key: string
  readonly fingerprint: string
}

/** What a key has reserved: the order that its request makes, whoever finishes it. */
interface Reservation {
  readonly orderId: string
  readonly createdAt: Date
}

/** The stored form of a key. All times are the database's. */
export interface IdempotencyRow extends KeyedRequest, Reservation {
  readonly state: 'running' | 'done'
  /** The run that holds the key. */
  readonly run: string
  readonly leaseUntil: Date
  /**
   * From then on the key is as if it had never been used, whether or not the row has been removed yet. Counts from the
   * answer. While there is none, the row may be removed a year after its last claim.
   */
  readonly expiresAt: Date
  /** The JSON of the order as it was made, perhaps encrypted. */
  readonly answer?: string | Sealed
  /** Whose order it is, as long as the answer names the customer. */
  readonly customerId?: string | null
}

/** A key with its answer in clear. */
export interface KeyRow extends IdempotencyRow {
  readonly answer?: string
}

/** The indexes of the collection; the one on expiry is housekeeping only. */
export const IDEMPOTENCY_INDEXES: NeededIndexes = {
  collection: IDEMPOTENCY_KEYS,
  indexes: [
    { name: 'one_row_per_key', key: { principal: 1, key: 1 }, unique: true },
    { name: 'order', key: { orderId: 1 } },
    { name: 'customer', key: { customerId: 1 }, sparse: true },
    { name: 'expired', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  ],
}

/** How long a key is kept after its answer, and how long a run holds it. Milliseconds. */
interface KeyTimes {
  readonly ttlMs: number
  readonly leaseMs: number
}

/** The keys in the database. */
export interface IdempotencyKeys {
  /**
   * Takes the key for a run when it is free, expired, or its run of the same request is dead (lease lapsed), and tells
   * what the row says then: the caller holds the key if `run` is its own.
   */
  claim(request: KeyedRequest, fresh: { run: string; orderId: string }): Promise<KeyRow>
  /** The row of a key that has not expired; null when the key is free. */
  find(request: KeyedRequest): Promise<KeyRow | null>
  /** Stores the answer, unless another run of the same request has stored one; returns the one that stands. */
  finish(row: KeyRow, answer: string, customerId?: string): Promise<string>
  /** Lets the next request take over from this run at once. */
  release(request: KeyedRequest, run: string): Promise<void>
}

/** How long keys are kept, and by what their answers are encrypted. */
export interface KeyOptions extends KeyTimes {
  readonly encryption: Encryption
}

/** Creates the keys of this database. Where an answer cannot be decrypted, they throw keyUnknown or recordAltered. */
export function createIdempotencyKeys(db: Db, { encryption, ...times }: KeyOptions): IdempotencyKeys {
  const rows = db.collection<IdempotencyRow>(IDEMPOTENCY_KEYS)
  const open = (row: IdempotencyRow): KeyRow => openAnswer(row, encryption)
  return {
    async claim(request, fresh) {
      try {
        return open(await claim(rows, claimPipeline(request, fresh, times), request))
      } catch (error) {
        // Two first requests at once: the unique index let one in, and the row is there now.
        if (isDuplicateKey(error)) return open(await claim(rows, claimPipeline(request, fresh, times), request))
        throw toUnavailable(error) ?? error
      }
    },
    async find(request) {
      const live = { $expr: { $not: [EXPIRED] } }
      const row = await reachable(rows.findOne({ ...ofKey(request), ...live }, DURABLE_READ))
      return row === null ? null : open(row)
    },
    async finish(row, answer, customerId) {
      const stored = encryption.seal(Buffer.from(answer), answerPlace(row)) ?? answer
      const stands = { $ifNull: ['$answer', { $literal: stored }] }
      const whose = { $cond: [UNANSWERED, { $literal: customerId ?? null }, '$customerId'] }
      const expiresAt = { $cond: [UNANSWERED, { $add: ['$$NOW', times.ttlMs] }, '$expiresAt'] }
      const finished = await reachable(
        rows.findOneAndUpdate(
          { ...ofKey(row), orderId: row.orderId },
          [{ $set: { state: 'done', answer: stands, customerId: whose, expiresAt } }],
          { returnDocument: 'after' },
        ),
      )
      return (finished === null ? null : open(finished).answer) ?? answer
    },
    async release(request, run) {
      await rows.updateOne({ ...ofKey(request), run, state: 'running' }, { $set: { leaseUntil: new Date(0) } })
    },
  }
}

type Keyed = Pick<KeyedRequest, 'principal' | 'key'>

/**
 * A row with its answer in clear.
 * @throws keyUnknown, recordAltered
 */
export function openAnswer<Row extends Keyed & Pick<IdempotencyRow, 'answer'>>(
  row: Row,
  encryption: Encryption,
): Omit<Row, 'answer'> & { readonly answer?: string } {
  const { answer, ...others } = row
  if (answer === undefined) return others
  return { ...others, answer: isSealed(answer) ? encryption.open(answer, answerPlace(row)).toString() : answer }
}

/** Where the answer of a key is. */
export function answerPlace({ principal, key }: Keyed): Place {
  return { collection: IDEMPOTENCY_KEYS, id: JSON.stringify([principal, key]), field: 'answer' }
}

function ofKey({ principal, key }: Keyed) {
  return { principal: { $eq: principal }, key: { $eq: key } }
}

const UNANSWERED = { $eq: [{ $type: '$answer' }, 'missing'] }
// Not before, however far ahead it is: it is what keeps a repeated request from a second order.
// A key without an answer does not expire, be its run dead: the retry would make a second order.
const EXPIRED = { $and: [{ $eq: ['$state', 'done'] }, { $lte: ['$expiresAt', '$$NOW'] }] }
const ABSENT = { $eq: [{ $type: '$run' }, 'missing'] }

// Never absent: release 0.1.0 takes a row without a date for one that has expired, and would make a second order.
const UNANSWERED_TTL_MS = 365 * 86_400_000

/** A lease that ends later than any that is given was given by a clock that was ahead. */
function lapsed({ leaseMs }: KeyTimes): object {
  const latest = { $add: ['$$NOW', leaseMs + CLOCK_STEP_MS] }
  return { $or: [{ $lte: ['$leaseUntil', '$$NOW'] }, { $gt: ['$leaseUntil', latest] }] }
}

/** One statement decides on the database's clock, so that no two runs can hold a key. */
function claimPipeline(request: KeyedRequest, fresh: { run: string; orderId: string }, times: KeyTimes): object[] {
  const after = (ms: number) => ({ $add: ['$$NOW', ms] })
  const lease = {
    run: { $literal: fresh.run },
    leaseUntil: after(times.leaseMs),
    expiresAt: after(UNANSWERED_TTL_MS),
  }
  const row = {
    _id: '$_id',
    principal: { $literal: request.principal },
    key: { $literal: request.key },
    fingerprint: { $literal: request.fingerprint },
    orderId: { $literal: fresh.orderId },
    createdAt: '$$NOW',
    state: 'running',
    ...lease,
  }
  const sameDead = {
    $and: [{ $eq: ['$state', 'running'] }, lapsed(times), { $eq: ['$fingerprint', { $literal: request.fingerprint }] }],
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
  if (row === null) throw new Error('An upsert gave no row')
  return row
}

async function reachable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw toUnavailable(error) ?? error
  }
}
