import type { Logger } from '@oncehook/kernel/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import { type Db, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { counterOf, msSince } from '../record-expressions.ts'
import { findByKeys, nameByKey, nameOfKey } from '../slots/find-by-keys.ts'
import { nameRecords } from '../slots/name-records.ts'
import type { RecordKey } from '../slots/slot.ts'
import { createPeriodicFlush } from '../statistics/periodic-flush.ts'
import { requeueDead } from '../transitions.ts'
import { checkRequeue, type NotRequeued, type RequeueLimits } from './requeue-dead.ts'

/** A redelivery: a delivery of an event that is already stored. */
interface RepeatedDelivery {
  readonly provider: string
  readonly bodyHash: string
  /** The event, read with the current settings. */
  readonly event: WebhookEvent
  /** The handler of the task that is meant, if it is the task of one. */
  readonly handler?: string | undefined
  /** Whether the same delivery is counted on another task, which reports another body. */
  readonly isFurther?: boolean | undefined
}

/** A dead event that a redelivery revives. */
export interface Requeued {
  readonly auditId: ObjectId
  readonly id: string
  readonly provider: string
  readonly eventId: string
  readonly reason: string | null
}

/** Dependencies of the counter. `flushMs` is how long a count may wait in memory. */
export interface RedeliveryCounterDeps extends RequeueLimits {
  readonly db: Db
  /** Whether a mongos answers. Default: no. */
  readonly isSharded?: () => boolean
  readonly logger: Logger
  readonly flushMs: number
  readonly onBodyConflict: (provider: string, times: number) => void
  readonly onRedelivered: (provider: string, outcome: 'revived' | NotRequeued) => void
  /** Writes to the audit log which events will be revived. If it fails, nothing is revived. */
  readonly onRequeued: (revivals: readonly Requeued[]) => Promise<void>
}

/**
 * Counts redeliveries on their records, in bulk and after the answer. The counting is best effort, bounded, and delays
 * no delivery.
 */
export interface RedeliveryCounter {
  /**
   * Counts a delivery. If its event is dead, the event becomes due again, within the limits and only if the body is the
   * stored one.
   */
  add(delivery: RepeatedDelivery): void
  /** Writes all counts so far. */
  flush(): Promise<void>
  /** Ends the periodic flush and flushes once more. */
  stop(): Promise<void>
}

interface Counted extends RepeatedDelivery {
  times: number
  /** Stays the same if the entry of the audit log has to be written again. */
  readonly auditId: ObjectId
}

// If more different events than this arrive between two flushes, further counts are dropped: they are statistics, not
// promises.
const MAX_COUNTED = 10_000

/** Creates the counter and starts its periodic flush. Counts that cannot be written wait for the next flush. */
export function createRedeliveryCounter(deps: RedeliveryCounterDeps): RedeliveryCounter {
  let counted = new Map<string, Counted>()
  const add = (delivery: RepeatedDelivery | Counted, times: number): void => {
    const key = `${nameOfKey(toKey(delivery))}\n${delivery.bodyHash}`
    const present = counted.get(key)
    if (present !== undefined) present.times += times
    else if (counted.size < MAX_COUNTED) counted.set(key, { auditId: new ObjectId(), ...delivery, times })
  }
  const flusher = createPeriodicFlush(async () => {
    const open = [...counted.values()]
    counted = new Map()
    try {
      while (open.length > 0) {
        await write(deps, open.slice(0, WRITE_AT_ONCE))
        open.splice(0, WRITE_AT_ONCE)
      }
    } catch (error) {
      // One of them may be the last delivery of a dead event: its provider has received 200 and will not send it again.
      for (const item of open) add(item, item.times)
      deps.logger.warn({ error, events: open.length }, 'inbox.counts-deferred')
    }
  }, deps.flushMs)
  return { add: (delivery) => add(delivery, 1), ...flusher }
}

const WRITE_AT_ONCE = 500

interface CheckedDelivery {
  readonly item: Counted
  readonly record: StoredRecord | undefined
  readonly differs: boolean
  /** Null if there is nothing to revive. */
  readonly requeues: true | NotRequeued | null
}

async function write(deps: RedeliveryCounterDeps, batch: readonly Counted[]): Promise<void> {
  const records = await storedRecords(deps, batch)
  const ages = await agesOfDead(deps, records.values())
  const checked = batch.map((item) => {
    const record = records.get(nameOfKey(toKey(item)))
    return checkDelivery(deps, { item, record, ageMs: ages.get(String(record?._id)) })
  })
  const requeued = checked.flatMap(({ item, requeues, record }) =>
    requeues === true && record ? [toRequeued(item, record)] : [],
  )
  // The entry of the audit log comes first. After a crash in between, nothing is revived without an entry.
  if (requeued.length > 0) await deps.onRequeued(requeued)
  const { refused } = await sendUpdates(deps.db, { update: EVENTS, updates: checked.map((one) => toUpdate(deps, one)) })
  const codes = new Map(refused.map(({ index, code }) => [index, code]))
  for (const [index, written] of checked.entries()) report(deps, written, codes.get(index))
}

interface FoundDelivery extends Pick<CheckedDelivery, 'item' | 'record'> {
  /** Of a dead record only. */
  readonly ageMs: number | undefined
}

function checkDelivery(deps: RedeliveryCounterDeps, { item, record, ageMs }: FoundDelivery): CheckedDelivery {
  const differs = record !== undefined && record.bodyHash !== item.bodyHash
  const isDead = record !== undefined && ageMs !== undefined
  const requeues = isDead && !differs ? checkRequeue({ ...record, ageMs }, deps) : null
  return { item, record, differs, requeues }
}

// A classic update: a pipeline, which only a revival needs, costs the database 30 µs more for each record.
function toUpdate({ isSharded }: RedeliveryCounterDeps, { item, record, differs, requeues }: CheckedDelivery): object {
  const key = toKey(item)
  const q = isSharded?.() === true ? nameBehindMongos(key, record) : { ...key, handler: key.handler ?? null }
  const mismatches = differs ? item.times : 0
  if (requeues !== true) {
    return { q, u: { $inc: { deliveries: item.times, mismatches }, $currentDate: { lastDeliveryAt: true } } }
  }
  const counted = { deliveries: { $add: [counterOf('deliveries'), item.times] }, lastDeliveryAt: '$$NOW' }
  return { q, u: [{ $set: counted }, requeueDead(item.event)] }
}

function toRequeued({ auditId }: Counted, { _id, provider, eventId, reason }: StoredRecord): Requeued {
  return { auditId, id: String(_id), provider, eventId, reason }
}

function report(
  deps: RedeliveryCounterDeps,
  { item, differs, requeues }: CheckedDelivery,
  code: number | undefined,
): void {
  if (code !== undefined) logRefusal(deps, item, code)
  else if (differs && item.isFurther !== true) logBodyConflict(deps, item)
  else if (requeues === true) logRequeued(deps, item)
  else if (requeues !== null) logNotRequeued(deps, item, requeues)
}

// If written again, it would be refused again, because nothing in it changes.
function logRefusal({ logger }: RedeliveryCounterDeps, { provider, event, times }: Counted, code: number): void {
  logger.warn({ provider, eventId: event.id.slice(0, 64), times, code }, 'inbox.count-refused')
}

function logBodyConflict({ logger, onBodyConflict }: RedeliveryCounterDeps, { provider, event, times }: Counted): void {
  onBodyConflict(provider, times)
  logger.warn({ provider, eventId: event.id.slice(0, 64), times }, 'webhook.mismatch')
}

function logRequeued({ logger, onRedelivered }: RedeliveryCounterDeps, { provider, event }: Counted): void {
  onRedelivered(provider, 'revived')
  logger.info({ provider, eventId: event.id.slice(0, 64) }, 'event.revived')
}

function logNotRequeued(deps: RedeliveryCounterDeps, { provider, event }: Counted, why: NotRequeued): void {
  deps.onRedelivered(provider, why)
  deps.logger.warn({ provider, eventId: event.id.slice(0, 64), why }, 'event.not-revived')
}

/** A mongos refuses an update of one record that names neither its `_id` nor its shard key. */
function nameBehindMongos(key: RecordKey, record: StoredRecord | undefined): object {
  const isUnnamed = record !== undefined && record.slot === undefined
  return isUnnamed ? { _id: record._id, ...key, handler: key.handler ?? null } : nameByKey(key)
}

function toKey({ provider, event, handler }: RepeatedDelivery): RecordKey {
  return { provider, eventId: event.id, handler }
}

type StoredRecord = Pick<
  EventDocument,
  '_id' | 'slot' | 'provider' | 'eventId' | 'handler' | 'bodyHash' | 'state' | 'reason' | 'revivals'
>

const STORED_MEMBERS = {
  ...{ slot: 1, provider: 1, eventId: 1, handler: 1, bodyHash: 1 },
  ...{ state: 1, reason: 1, revivals: 1 },
}

async function storedRecords(
  { db, isSharded }: RedeliveryCounterDeps,
  batch: readonly Counted[],
): Promise<Map<string, StoredRecord>> {
  const stored = await findByKeys<StoredRecord>({ db, isSharded }, batch.map(toKey), { projection: STORED_MEMBERS })
  return new Map(stored.map((record) => [nameOfKey(record), record]))
}

/** Milliseconds since the first delivery of each dead record, by the clock of the database. */
async function agesOfDead(
  { db, isSharded }: RedeliveryCounterDeps,
  records: Iterable<StoredRecord>,
): Promise<Map<string, number>> {
  const dead = [...records].filter(({ state }) => state === 'dead')
  if (dead.length === 0) return new Map()
  const aged = await db
    .collection(EVENTS)
    .find(nameRecords(dead, isSharded))
    .project<{ _id: ObjectId; ageMs: number }>({ ageMs: msSince('receivedAt') })
    .toArray()
  return new Map(aged.map(({ _id, ageMs }) => [String(_id), ageMs]))
}
