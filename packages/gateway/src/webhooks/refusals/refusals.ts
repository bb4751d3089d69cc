import { randomUUID } from 'node:crypto'
import type { Logger } from '@oncehook/kernel/log/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Cause } from '@oncehook/webhooks/providers'
import type { Db, ObjectId } from 'mongodb'
import { createPeriodicFlush } from '../../inbox/statistics/periodic-flush.ts'
import { describeRefusal, type RefusalAnswer, type RefusedDelivery } from './describe-refusal.ts'

/**
 * Records of refused deliveries for operators. They are kept on a best-effort basis and written after the answer, so they
 * delay no delivery. Each process has a ring of records for each kind of refusal at a provider: a new record replaces the
 * oldest one of its ring, so that a flood of one kind hides no other.
 */
export type Refusals = ReturnType<typeof createRefusals>

const RETENTION_MS = 7 * 86_400_000
const WITHIN_MS = 2_000

/** Creates the records and starts their periodic write. */
export function createRefusals(deps: {
  db: Db
  clock: Clock
  logger: Logger
  /** How long a record may wait in memory. */
  flushMs: number
  /** Counts deliveries without a record: there were too many of them, or the database did not store them. */
  onNotKept: (why: 'too_many' | 'not_stored', times: number) => void
}) {
  const { db, clock, logger, flushMs, onNotKept } = deps
  const buffer = new RefusalBuffer()
  const { stop } = createPeriodicFlush(async () => {
    const { updates, records } = buffer.take(new Date(clock.now()))
    if (updates.length === 0) return
    try {
      const { refused } = await sendUpdates(db, { update: REFUSALS, updates, withinMs: WITHIN_MS })
      if (refused.length > 0) onNotKept('not_stored', refused.length)
    } catch (error) {
      onNotKept('not_stored', records)
      logger.warn({ error, records }, 'refusals.dropped')
    }
  }, flushMs)
  return {
    /** Ends the periodic writes and writes once more. */
    stop,
    /** Notes a refused delivery. Its body is not used after the call. */
    note(refused: RefusedDelivery, answer: RefusalAnswer): void {
      const now = clock.now()
      const describe = () => describeRefusal(refused, answer, now)
      const kind = { provider: refused.provider.name, reason: answer.code, why: answer.why }
      if (!buffer.add(kind, now, describe)) onNotKept('too_many', 1)
    },
  }
}

/** The code of a delivery that is not authentic: why it is not makes its kind. */
const NOT_AUTHENTIC = 'signature_invalid'

interface Ring {
  readonly kind: RefusalKind
  readonly name: string
  /** The records since the last write. */
  kept: Refusal[]
  /** The number of deliveries without a record since then. */
  notKept: number
  /** How many records it may take now. */
  allowance: number
  countedAt: number
  /** The number of its next record. */
  next: number
}

const MOST_AT_ONCE = 20
const PER_SECOND = 0.5
const MOST_WAITING = 2_000
const SLOTS = 100

/**
 * Holds records of refused deliveries until they are written. Each ring accepts 20 records at once and then one every
 * two seconds, so a flood costs little and its records do not replace each other within seconds.
 */
export class RefusalBuffer {
  readonly #rings = new Map<string, Ring>()
  readonly #owner = randomUUID()
  #waiting = 0

  /** Adds what `describe` returns if the ring takes one more; otherwise counts the delivery. Returns whether it is kept. */
  add({ provider, reason, why }: RefusalKind, now: number, describe: () => Refusal): boolean {
    const isForged = reason === NOT_AUTHENTIC
    const ring = this.#ringOf({ provider, reason, why: isForged ? why : null }, now)
    refill(ring, now)
    if (ring.allowance < 1 || this.#waiting >= MOST_WAITING) {
      ring.notKept += 1
      return false
    }
    ring.allowance -= 1
    ring.kept.push(describe())
    this.#waiting += 1
    return true
  }

  /** Takes everything there is, as statements of one update command. */
  take(now: Date): { readonly updates: readonly object[]; readonly records: number } {
    const records = this.#waiting
    const updates = [...this.#rings.values()].flatMap((ring) => this.#updatesOf(ring, now))
    this.#waiting = 0
    return { updates, records }
  }

  #updatesOf(ring: Ring, now: Date): object[] {
    const { kind, name, kept, notKept } = ring
    const expireAt = new Date(now.getTime() + RETENTION_MS)
    const place = { provider: kind.provider, ring: name }
    const updates: object[] = kept.map((record, index) => ({
      q: { _id: { ...place, owner: this.#owner, slot: (ring.next + index) % SLOTS } },
      u: { ...record, expireAt },
      upsert: true,
    }))
    if (notKept > 0) {
      const u = { $inc: { count: notKept }, $set: { ...kind, lastAt: now, expireAt }, $setOnInsert: { since: now } }
      updates.push({ q: { _id: { ...place, slot: -1 } }, u, upsert: true })
    }
    ring.next += kept.length
    ring.kept = []
    ring.notKept = 0
    return updates
  }

  #ringOf(kind: RefusalKind, now: number): Ring {
    const name = kind.why ?? kind.reason
    const key = `${kind.provider}\n${name}`
    const present = this.#rings.get(key)
    if (present !== undefined) return present
    const ring = { kind, name, kept: [], notKept: 0, allowance: MOST_AT_ONCE, countedAt: now, next: 0 }
    this.#rings.set(key, ring)
    return ring
  }
}

/** If the clock was set back, nothing is added or removed. */
function refill(ring: Ring, now: number): void {
  const seconds = Math.max(0, now - ring.countedAt) / 1_000
  ring.allowance = Math.min(MOST_AT_ONCE, ring.allowance + seconds * PER_SECOND)
  ring.countedAt = now
}

/** The properties that all records of a ring share. */
interface RefusalKind {
  readonly provider: string
  /** The error code of the answer. */
  readonly reason: string
  /** Why the delivery was not authentic, if that is known. */
  readonly why: string | null
}

/** Facts about a refused delivery, without its body and signature. */
export interface Refusal extends RefusalKind {
  /** In the order of the refusals. */
  readonly id: ObjectId
  readonly at: Date
  readonly status: number
  /** The public message of the error. It names properties, never values. */
  readonly message: string
  /** The network of the sender: /24 of IPv4, /48 of IPv6. Null if the connection had ended. */
  readonly network: string | null
  /** The bytes of the body: those that were read, otherwise those that the sender announced. Null if there is neither. */
  readonly bytes: number | null
  /** The secrets with which the signature was compared, by id. */
  readonly secretIds: readonly string[]
  /** What the command `explain` would say, as far as this can be found without asking anybody; the most likely first. */
  readonly causes: readonly Cause[]
  readonly requestId: string
  readonly headers: readonly ShownHeader[]
  /** The headers in which the scheme expects the signature. Their values are never kept. */
  readonly signatureHeaders: readonly { readonly name: string; readonly isPresent: boolean }[]
}

/** A header whose value is kept, shortened and without control characters. */
export interface ShownHeader {
  readonly name: string
  readonly value: string
}

/** The stored form of a refused delivery. The next record of the same ring and process with this slot replaces it. */
export interface RefusalDocument extends Refusal {
  readonly _id: { readonly provider: string; readonly ring: string; readonly owner: string; readonly slot: number }
  readonly expireAt: Date
}

/** How many deliveries of the rings of all processes were refused without a record. Its slot is -1. */
export interface NotKeptDocument extends RefusalKind {
  readonly _id: { readonly provider: string; readonly ring: string; readonly slot: number }
  readonly count: number
  readonly since: Date
  readonly lastAt: Date
  readonly expireAt: Date
}

export const REFUSALS = 'refusals'

/** The indexes that lists of refused deliveries and their expiry need. */
export const REFUSAL_INDEXES: NeededIndexes = {
  collection: REFUSALS,
  indexes: [
    { name: 'newest', key: { id: -1 } },
    { name: 'provider', key: { provider: 1, id: -1 } },
    { name: 'not_kept', key: { count: 1 }, sparse: true },
    { name: 'expiry', key: { expireAt: 1 }, expireAfterSeconds: 0 },
  ],
}
