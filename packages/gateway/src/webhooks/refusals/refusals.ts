import type { Logger } from '@oncehook/kernel/log/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { NeededIndexes } from '@oncehook/kernel/mongo/ensure-indexes'
import type { Clock } from '@oncehook/kernel/time/clock'
import type { Cause } from '@oncehook/webhooks/providers'
import type { Db, ObjectId } from 'mongodb'
import { createPeriodicFlush } from '../../inbox/statistics/periodic-flush.ts'
import {
  describeRefusal,
  networkOf,
  type OtherProvider,
  type RefusalAnswer,
  type RefusedDelivery,
} from './describe-refusal.ts'

/**
 * Records of refused deliveries for operators. They are limited in memory and in the database, kept on a best-effort
 * basis and written after the answer, so they delay no delivery.
 */
export type Refusals = ReturnType<typeof createRefusals>

/** Creates the records and starts their periodic write. */
export function createRefusals(deps: {
  db: Db
  clock: Clock
  logger: Logger
  /** How long a record may wait in memory. */
  flushMs: number
  providers: () => ReadonlyMap<string, OtherProvider>
  /** Counts deliveries without a record: there were too many of them, or the database did not store them. */
  onNotKept: (why: 'too_many' | 'not_stored', times: number) => void
}) {
  const { db, clock, logger, flushMs, providers, onNotKept } = deps
  const buffer = new RefusalBuffer()
  const slots = new Map<string, readonly number[]>()
  const { stop } = createPeriodicFlush(async () => {
    const now = clock.now()
    const contents = buffer.take(now)
    if (contents.length === 0) return
    const records = contents.reduce((sum, { kept }) => sum + kept.length, 0)
    try {
      const refused = await writeRefusals({ db, now, slots }, contents)
      if (refused > 0) onNotKept('not_stored', refused)
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
      const { name: provider } = refused.provider
      const origin = { network: networkOf(refused.address), now: clock.now() }
      const ring = { provider, ring: ringOf(answer.code, answer.why) }
      const describe = () => describeRefusal(refused, answer, { ...origin, providers: providers().values() })
      if (!buffer.add(ring, origin, describe)) onNotKept('too_many', 1)
    },
  }
}

/** The number of records per provider for each kind of refusal: 1,000 in total. */
const SLOTS_OF_REASONS = {
  signature_mismatch: 200,
  header_missing: 100,
  header_malformed: 100,
  timestamp_outside_window: 100,
} as const
const SLOTS_OF_CODES = {
  rate_limited: 100,
  payload_too_large: 60,
  unsupported_media_type: 60,
  invalid_body: 60,
  event_invalid: 60,
  request_timeout: 40,
  bad_request: 40,
} as const
const OTHERS = 'others'
const SLOTS_OF_OTHERS = 40
const SLOTS: Readonly<Record<string, number>> = { ...SLOTS_OF_REASONS, ...SLOTS_OF_CODES, [OTHERS]: SLOTS_OF_OTHERS }

/** The code of a delivery that is not authentic. */
const NOT_AUTHENTIC = 'signature_invalid'

/** The ring of a refusal: why it was not authentic, or the code of the answer. Rare kinds share one. */
function ringOf(code: string, why: string | null): string {
  const name = code === NOT_AUTHENTIC && why !== null ? why : code
  return Object.hasOwn(SLOTS, name) ? name : OTHERS
}

/** How many records a ring has. */
function slotsOf(ring: string): number {
  return SLOTS[ring] ?? SLOTS_OF_OTHERS
}

/** The common property of the refusals of a ring. `others` for kinds that share a ring. */
function kindOf(ring: string): { readonly reason: string; readonly why: string | null } {
  return Object.hasOwn(SLOTS_OF_REASONS, ring) ? { reason: NOT_AUTHENTIC, why: ring } : { reason: ring, why: null }
}

/** The refusals of one kind at one provider. */
interface RefusalRing {
  readonly provider: string
  readonly ring: string
}

/** The refusals of a ring since the last write. */
interface RingContents extends RefusalRing {
  readonly kept: readonly Refusal[]
  /** The number of deliveries without a record. */
  readonly notKept: number
}

interface Filling extends RefusalRing {
  kept: Refusal[]
  notKept: number
  /** How many records it may take now. */
  allowance: number
  countedAt: number
  /** The networks of its last records. */
  networks: (string | null)[]
}

const MOST_AT_ONCE = 20
const PER_SECOND = 0.5
// The part that one network leaves to others.
const FOR_OTHERS = 5
const MOST_NETWORKS = 8
const MOST_KEPT = 2_000

/**
 * Holds records of refused deliveries until they are written. Each ring accepts 20 records at once and then one every
 * two seconds, so a flood costs little and its records do not replace each other within seconds. One network never
 * takes the last five of a ring. All rings together hold about 2,000 records; beyond that, a ring accepts a record only
 * if it has none.
 */
export class RefusalBuffer {
  #rings = new Map<string, Map<string, Filling>>()
  #kept = 0

  /**
   * Adds what `describe` returns if the ring takes one more; otherwise counts the delivery. Returns whether it is kept. `now`
   * is in milliseconds.
   */
  add(ring: RefusalRing, { network, now }: { network: string | null; now: number }, describe: () => Refusal): boolean {
    const filling = this.#fillingOf(ring, now)
    refill(filling, now)
    const { allowance, networks, kept } = filling
    const isEager = allowance < FOR_OTHERS + 1 && networks.includes(network)
    const isFull = kept.length >= MOST_AT_ONCE || (this.#kept >= MOST_KEPT && kept.length > 0)
    if (allowance < 1 || isEager || isFull) {
      filling.notKept += 1
      return false
    }
    filling.allowance -= 1
    networks.push(network)
    if (networks.length > MOST_NETWORKS) networks.shift()
    kept.push(describe())
    this.#kept += 1
    return true
  }

  /** Takes everything there is, and forgets rings that were idle for long. */
  take(now: number): RingContents[] {
    const taken: RingContents[] = []
    this.#kept = 0
    for (const [provider, rings] of this.#rings) {
      for (const [name, filling] of rings) {
        const { kept, notKept } = filling
        if (kept.length > 0 || notKept > 0) taken.push({ provider, ring: name, kept, notKept })
        filling.kept = []
        filling.notKept = 0
        refill(filling, now)
        if (filling.allowance >= MOST_AT_ONCE) rings.delete(name)
      }
      if (rings.size === 0) this.#rings.delete(provider)
    }
    return taken
  }

  #fillingOf(ring: RefusalRing, now: number): Filling {
    const rings = this.#rings.get(ring.provider)
    const present = rings?.get(ring.ring)
    if (present !== undefined) return present
    const filling = { ...ring, kept: [], notKept: 0, allowance: MOST_AT_ONCE, countedAt: now, networks: [] }
    if (rings === undefined) this.#rings.set(ring.provider, new Map([[ring.ring, filling]]))
    else rings.set(ring.ring, filling)
    return filling
  }
}

/** If the clock was set back, nothing is added or removed. */
function refill(filling: Filling, now: number): void {
  const seconds = Math.max(0, now - filling.countedAt) / 1_000
  filling.allowance = Math.min(MOST_AT_ONCE, filling.allowance + seconds * PER_SECOND)
  filling.countedAt = now
}

/** What a write needs: the database, the time in milliseconds, and the slots that this process has taken, by ring. */
interface WriteTarget {
  readonly db: Db
  readonly now: number
  readonly slots: Map<string, readonly number[]>
}

/** How long a refused delivery is kept. */
const RETENTION_MS = 7 * 86_400_000
const WITHIN_MS = 2_000
const TAKEN_AT_ONCE = 20

/**
 * Writes records and counts with one command. Resolves to the number of statements that the database refused.
 * @throws MongoError if it is unknown whether a majority has them
 */
async function writeRefusals(target: WriteTarget, contents: readonly RingContents[]): Promise<number> {
  const updates = await Promise.all(
    contents.map(async (one) => [...(await recordUpdates(target, one)), ...countUpdates(target, one)]),
  )
  const { refused } = await sendUpdates(target.db, { update: REFUSALS, updates: updates.flat(), withinMs: WITHIN_MS })
  return refused.length
}

async function recordUpdates(target: WriteTarget, contents: RingContents): Promise<object[]> {
  const { provider, ring, kept } = contents
  if (kept.length === 0) return []
  const slots = await slotsFor(target, contents)
  const expireAt = new Date(target.now + RETENTION_MS)
  return kept.map((record, index) => ({
    q: { _id: { provider, ring, slot: slots[index] } },
    u: { ...record, expireAt },
    upsert: true,
  }))
}

/**
 * The slots for the records of a ring. Each process takes some in advance, so that several processes do not replace each
 * other's records, and most writes are one command.
 */
async function slotsFor(target: WriteTarget, contents: RingContents): Promise<readonly number[]> {
  const { provider, ring, kept } = contents
  const key = `${provider}\n${ring}`
  const free = target.slots.get(key) ?? []
  const all = free.length < kept.length ? [...free, ...(await takeSlots(target, contents))] : free
  target.slots.set(key, all.slice(kept.length))
  return all.slice(0, kept.length)
}

async function takeSlots({ db, now }: WriteTarget, { provider, ring, kept }: RingContents): Promise<number[]> {
  const wanted = Math.max(kept.length, TAKEN_AT_ONCE)
  const found = await db
    .collection<NotKeptDocument>(REFUSALS)
    .findOneAndUpdate(
      { _id: { provider, ring, slot: -1 } },
      { $inc: { taken: wanted }, ...countedAt(ring, { provider, now }) },
      { upsert: true, returnDocument: 'after', projection: { taken: 1 }, maxTimeMS: WITHIN_MS },
    )
  const end = found?.taken ?? wanted
  return Array.from({ length: wanted }, (_, index) => (end - wanted + index) % slotsOf(ring))
}

function countUpdates({ now }: WriteTarget, { provider, ring, notKept }: RingContents): object[] {
  if (notKept === 0) return []
  const u = { $inc: { count: notKept }, ...countedAt(ring, { provider, now }) }
  return [{ q: { _id: { provider, ring, slot: -1 } }, u, upsert: true }]
}

function countedAt(ring: string, { provider, now }: { readonly provider: string; readonly now: number }) {
  const at = new Date(now)
  return {
    $set: { provider, ...kindOf(ring), lastAt: at, expireAt: new Date(now + RETENTION_MS) },
    $setOnInsert: { since: at },
  }
}

/** A slot for a record. The next record of the same ring with this slot replaces it. */
interface RefusalPlace {
  readonly provider: string
  /** Deliveries of one kind share a ring, so that a flood of one kind replaces no record of another. */
  readonly ring: string
  /** From 0; -1 for the count of deliveries without a record. */
  readonly slot: number
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
  /** The HTTP status of the answer. */
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

/** The stored form of a refused delivery. */
export interface RefusalDocument extends Refusal {
  readonly _id: RefusalPlace
  readonly expireAt: Date
}

/** How many deliveries of a ring were refused without a record, and how many slots the processes have taken so far. */
export interface NotKeptDocument extends RefusalKind {
  readonly _id: RefusalPlace
  readonly taken?: number
  readonly count?: number
  readonly since: Date
  readonly lastAt: Date
  readonly expireAt: Date
}

/** The collection of refused deliveries. */
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
