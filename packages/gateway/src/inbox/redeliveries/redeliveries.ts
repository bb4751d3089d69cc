import type { Logger } from '@oncehook/kernel/log/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Db, ObjectId } from 'mongodb'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { counterOf, msSince } from '../record-expressions.ts'
import { nameByKey, nameOfKey } from '../record-key.ts'
import { createPeriodicFlush } from '../statistics/periodic-flush.ts'
import { requeueDead } from '../transitions.ts'
import { type Counted, createUnwrittenCounts, type RepeatedDelivery, toKey } from './unwritten-counts.ts'

/*
 * A redelivery is counted on its record, and makes a dead event due again, within limits and only if its body is the stored
 * one. Counts are gathered in memory, and written in bulk after the answer: that is best effort, bounded, and delays no
 * delivery. A batch that cannot be written waits for the next flush as a whole. If only its reply was lost, its redeliveries
 * are counted twice.
 */

/** A dead event that a redelivery revives. */
export interface Requeued {
  readonly auditId: ObjectId
  readonly id: string
  readonly provider: string
  readonly eventId: string
  readonly reason: string | null
}

/** Why a redelivery did not revive a dead event. */
type NotRequeued = 'too_late' | 'too_often'

/** Dependencies of the counter. */
export interface RedeliveryCounterDeps {
  readonly db: Db
  readonly logger: Logger
  /** How long a count may wait in memory. */
  readonly flushMs: number
  /** How many losses in a row make a task dead. A redelivery revives it as many times. */
  readonly maxCrashes: number
  /** For how long after the first delivery it does so, in milliseconds. */
  redeliveryMs(provider: string): number
  readonly onBodyConflict: (provider: string, times: number) => void
  readonly onRedelivered: (provider: string, outcome: 'revived' | NotRequeued) => void
  /** A redelivery is neither counted nor can it revive its event, because too many others wait. */
  readonly onDropped: () => void
  /** Writes to the audit log which events will be revived. If it fails, nothing is revived. */
  readonly onRequeued: (revivals: readonly Requeued[]) => Promise<void>
}

/** Counts redeliveries. */
export interface RedeliveryCounter {
  /** Counts a delivery. */
  add(delivery: RepeatedDelivery): void
  /** Whether redeliveries of further events are dropped because the database takes no counts. */
  readonly isBlocked: boolean
  /** Writes all counts so far. */
  flush(): Promise<void>
  /** Ends the periodic flush and flushes once more. */
  stop(): Promise<void>
}

/** Creates the counter and starts its periodic flush. */
export function createRedeliveryCounter(deps: RedeliveryCounterDeps): RedeliveryCounter {
  const counts = createUnwrittenCounts(deps.onDropped)
  const flusher = createPeriodicFlush(async () => {
    const { waiting, error } = await counts.writeAll((batch) => write(deps, batch))
    if (waiting > 0) deps.logger.warn({ error, events: waiting }, 'inbox.counts-deferred')
    const dropped = counts.takeDropped()
    if (dropped > 0) deps.logger.warn({ redeliveries: dropped }, 'inbox.counts-dropped')
  }, deps.flushMs)
  return {
    add: counts.add,
    get isBlocked() {
      return counts.isBlocked
    },
    ...flusher,
  }
}

interface CheckedDelivery {
  readonly item: Counted
  readonly record: StoredRecord | undefined
  /** Whether its body is not the stored one. */
  readonly differs: boolean
  /** Null if there is nothing to revive. */
  readonly requeues: true | NotRequeued | null
}

async function write(deps: RedeliveryCounterDeps, batch: readonly Counted[]): Promise<void> {
  const records = await storedRecords(deps.db, batch)
  const ages = await agesOfDead(deps.db, records.values())
  const checked = batch.map((item) => {
    const record = records.get(nameOfKey(toKey(item)))
    return checkDelivery(deps, { item, record, ageMs: ages.get(String(record?._id)) })
  })
  // The entry of the audit log comes first. After a crash in between, nothing is revived without an entry.
  await audit(deps, checked)
  const { refused } = await sendUpdates(deps.db, {
    update: EVENTS,
    updates: checked.map((one) => toUpdate(one, deps.maxCrashes)),
  })
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
  return { item, record, differs, requeues: isDead && !differs ? checkRequeue(deps, record, ageMs) : null }
}

function checkRequeue(
  { redeliveryMs, maxCrashes }: RedeliveryCounterDeps,
  { provider, revivals = 0 }: StoredRecord,
  ageMs: number,
): true | NotRequeued {
  if (ageMs > redeliveryMs(provider)) return 'too_late'
  return revivals >= maxCrashes ? 'too_often' : true
}

/** Writes the entries that the audit log is not known to have. */
async function audit(deps: RedeliveryCounterDeps, checked: readonly CheckedDelivery[]): Promise<void> {
  const missing = checked.filter(({ item, requeues }) => requeues === true && !item.isAudited)
  const requeued = missing.flatMap(({ item, record }) => (record ? [toRequeued(item, record)] : []))
  if (requeued.length > 0) await deps.onRequeued(requeued)
  for (const { item } of missing) item.isAudited = true
}

function toRequeued({ auditId }: Counted, { _id, provider, eventId, reason }: StoredRecord): Requeued {
  return { auditId, id: String(_id), provider, eventId, reason }
}

// A classic update: a pipeline, which only a revival needs, costs the database 30 µs more for each record.
function toUpdate({ item, differs, requeues }: CheckedDelivery, maxCrashes: number): object {
  const q = nameByKey(toKey(item))
  const mismatches = differs ? item.times : 0
  if (requeues !== true) {
    return { q, u: { $inc: { deliveries: item.times, mismatches }, $currentDate: { lastDeliveryAt: true } } }
  }
  const counted = { deliveries: { $add: [counterOf('deliveries'), item.times] }, lastDeliveryAt: '$$NOW' }
  return { q, u: [{ $set: counted }, requeueDead(item.event, maxCrashes)] }
}

/** Logs and counts what became of a redelivery. `code`: the database refused to write it. */
function report(
  { logger, onBodyConflict, onRedelivered }: RedeliveryCounterDeps,
  { item, differs, requeues }: CheckedDelivery,
  code: number | undefined,
): void {
  const { provider, event, times, isFurther } = item
  const named = { provider, eventId: event.id.slice(0, 64) }
  if (code !== undefined) {
    // If written again, it would be refused again, because nothing in it changes.
    logger.warn({ ...named, times, code }, 'inbox.count-refused')
  } else if (differs && isFurther !== true) {
    onBodyConflict(provider, times)
    logger.warn({ ...named, times }, 'webhook.mismatch')
  } else if (requeues === true) {
    onRedelivered(provider, 'revived')
    logger.info(named, 'event.revived')
  } else if (requeues !== null) {
    onRedelivered(provider, requeues)
    logger.warn({ ...named, why: requeues }, 'event.not-revived')
  }
}

type StoredRecord = Pick<
  EventDocument,
  '_id' | 'provider' | 'eventId' | 'handler' | 'bodyHash' | 'state' | 'reason' | 'revivals'
>

const STORED_MEMBERS = { provider: 1, eventId: 1, handler: 1, bodyHash: 1, state: 1, reason: 1, revivals: 1 } as const

async function storedRecords(db: Db, batch: readonly Counted[]): Promise<Map<string, StoredRecord>> {
  const $or = batch.map(({ provider, event }) => ({ provider, eventId: event.id }))
  const stored = await db.collection(EVENTS).find<StoredRecord>({ $or }, { projection: STORED_MEMBERS }).toArray()
  return new Map(stored.map((record) => [nameOfKey(record), record]))
}

/** Milliseconds since the first delivery of each dead record, by the clock of the database. */
async function agesOfDead(db: Db, records: Iterable<StoredRecord>): Promise<Map<string, number>> {
  const ids = [...records].filter(({ state }) => state === 'dead').map(({ _id }) => _id)
  if (ids.length === 0) return new Map()
  const found = db
    .collection(EVENTS)
    .find({ _id: { $in: ids } })
    .project<{ readonly _id: ObjectId; readonly ageMs: number }>({ ageMs: msSince('receivedAt') })
  return new Map((await found.toArray()).map(({ _id, ageMs }) => [String(_id), ageMs]))
}
