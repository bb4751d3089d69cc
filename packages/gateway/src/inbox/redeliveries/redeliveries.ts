import type { Logger } from '@oncehook/kernel/log/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { counterOf, msSince } from '@oncehook/queue/expressions'
import { EVENTS, nameOfKey, type TaskKey } from '@oncehook/queue/task'
import { literals, requeueDead } from '@oncehook/queue/transitions'
import type { WebhookEvent } from '@oncehook/webhooks/providers'
import { type Db, type Document, ObjectId } from 'mongodb'
import type { EventDocument } from '../event-document.ts'
import { NO_DATES } from '../retention/retention.ts'
import { createPeriodicFlush } from '../statistics/periodic-flush.ts'

/*
 * A redelivery is counted on its record, and makes a dead event due again, within limits and only if its body is the stored
 * one. Counts are gathered in memory, and written in bulk after the answer: that is best effort, bounded, and delays no
 * delivery. A batch that cannot be written waits for the next flush as a whole. If only its reply was lost, its redeliveries
 * are counted twice.
 */

export interface Requeued {
  readonly auditId: ObjectId
  readonly id: string
  readonly provider: string
  readonly eventId: string
  readonly reason: string | null
}

type NotRequeued = 'too_late' | 'too_often'

export interface RedeliveryCounterDeps {
  readonly db: Db
  readonly logger: Logger
  readonly flushMs: number
  /** How many losses in a row make a task dead. A redelivery revives it as many times. */
  readonly maxCrashes: number
  /** For how long after the first delivery it does so, in milliseconds. */
  redeliveryMs(provider: string): number
  readonly onBodyConflict: (provider: string, times: number) => void
  readonly onRedelivered: (provider: string, outcome: 'revived' | NotRequeued) => void
  /** A redelivery is neither counted nor can it revive its event, because too many others wait. */
  readonly onDropped: () => void
  /** Writes to the audit log which events will be revived, each entry once. If it fails, nothing is revived. */
  readonly onRequeued: (revivals: readonly Requeued[]) => Promise<void>
}

export type RedeliveryCounter = ReturnType<typeof createRedeliveryCounter>

export function createRedeliveryCounter(deps: RedeliveryCounterDeps) {
  const counts = createUnwrittenCounts(deps.onDropped)
  const flusher = createPeriodicFlush(async () => {
    const { waiting, error } = await counts.writeAll((batch) => write(deps, batch))
    if (waiting > 0) deps.logger.warn({ error, events: waiting }, 'inbox.counts-deferred')
    const dropped = counts.takeDropped()
    if (dropped > 0) deps.logger.warn({ redeliveries: dropped }, 'inbox.counts-dropped')
  }, deps.flushMs)
  return {
    add: counts.add,
    /** Whether redeliveries of further events are dropped because the database takes no counts. */
    get isBlocked(): boolean {
      return counts.isBlocked
    },
    ...flusher,
  }
}

interface CheckedDelivery {
  readonly item: Counted
  readonly record: StoredRecord | undefined
  readonly differs: boolean
  /** Null if there is nothing to revive. */
  readonly requeues: true | NotRequeued | null
}

async function write(deps: RedeliveryCounterDeps, batch: readonly Counted[]): Promise<void> {
  const records = await storedRecords(deps.db, batch)
  const checked = batch.map((item) => checkDelivery(deps, item, records.get(nameOfKey(toKey(item)))))
  // The entry of the audit log comes first. After a crash in between, nothing is revived without an entry.
  await audit(deps, checked)
  const { refused } = await sendUpdates(deps.db, {
    update: EVENTS,
    updates: checked.map((one) => toUpdate(one, deps.maxCrashes)),
  })
  const codes = new Map(refused.map(({ index, code }) => [index, code]))
  for (const [index, written] of checked.entries()) report(deps, written, codes.get(index))
}

function checkDelivery(deps: RedeliveryCounterDeps, item: Counted, record: StoredRecord | undefined): CheckedDelivery {
  const differs = record !== undefined && record.bodyHash !== item.bodyHash
  return { item, record, differs, requeues: record?.state === 'dead' && !differs ? checkRequeue(deps, record) : null }
}

function checkRequeue(
  { redeliveryMs, maxCrashes }: RedeliveryCounterDeps,
  { provider, again, ageMs }: StoredRecord,
): true | NotRequeued {
  if (ageMs > redeliveryMs(provider)) return 'too_late'
  return (again?.revivals ?? 0) >= maxCrashes ? 'too_often' : true
}

async function audit(deps: RedeliveryCounterDeps, checked: readonly CheckedDelivery[]): Promise<void> {
  const revived = checked.filter(({ requeues }) => requeues === true)
  const requeued = revived.flatMap(({ item, record }) => (record ? [toRequeued(item, record)] : []))
  if (requeued.length > 0) await deps.onRequeued(requeued)
}

function toRequeued({ auditId }: Counted, { _id, provider, eventId, reason }: StoredRecord): Requeued {
  return { auditId, id: String(_id), provider, eventId, reason }
}

// A classic update: a pipeline, which only a revival needs, costs the database 30 µs more for each record.
function toUpdate({ item, differs, requeues }: CheckedDelivery, maxCrashes: number): object {
  const q = toKey(item)
  const mismatches = differs ? item.times : 0
  if (requeues !== true) {
    return { q, u: { $inc: { deliveries: item.times, mismatches } } }
  }
  const counted = { deliveries: { $add: [counterOf('deliveries'), item.times] } }
  return { q, u: [{ $set: counted }, requeueDead(revived(item.event), maxCrashes)] }
}

/** What a revived event gets: the fields that the current settings read from its body. */
function revived({ type, objectId, facts: { orderId, ...facts } }: WebhookEvent): Document {
  return { ...literals({ type, objectId, orderId, facts }), ...NO_DATES }
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

interface StoredRecord extends Pick<EventDocument, '_id' | keyof typeof STORED_MEMBERS> {
  /** Milliseconds since the first delivery, by the clock of the database. */
  readonly ageMs: number
}

const STORED_MEMBERS = { provider: 1, eventId: 1, handler: 1, bodyHash: 1, state: 1, reason: 1, again: 1 } as const

async function storedRecords(db: Db, batch: readonly Counted[]): Promise<Map<string, StoredRecord>> {
  const $or = batch.map(({ provider, event }) => ({ provider, eventId: event.id }))
  const projection = { ...STORED_MEMBERS, ageMs: msSince('receivedAt') }
  const stored = await db.collection(EVENTS).find<StoredRecord>({ $or }, { projection }).toArray()
  return new Map(stored.map((record) => [nameOfKey(record), record]))
}

/** A redelivery: a delivery of an event that is already stored. */
interface RepeatedDelivery {
  readonly provider: string
  readonly bodyHash: string
  readonly event: WebhookEvent
  readonly handler: string
  /** Whether the same delivery is counted on another task, which reports another body. */
  readonly isFurther?: boolean | undefined
}

interface Counted extends RepeatedDelivery {
  times: number
  /** Stays the same if the entry of the audit log has to be written again. */
  readonly auditId: ObjectId
}

// Redeliveries of more different events than this are dropped.
const MAX_COUNTED = 10_000
const WRITE_AT_ONCE = 500

/** The redeliveries that are not written yet. Their number is bounded, also during a write. */
function createUnwrittenCounts(onDropped: () => void) {
  let counted = new Map<string, Counted>()
  let open: Counted[] = []
  let dropped = 0
  let hasFailed = false
  const isFull = (): boolean => counted.size + open.length >= MAX_COUNTED
  const putBack = (item: Counted): void => {
    const key = nameOfCount(item)
    const newer = counted.get(key)
    const { auditId, times } = item
    counted.set(key, newer === undefined ? item : { ...newer, auditId, times: times + newer.times })
  }
  return {
    /** Whether there is no room for redeliveries of further events, and the last write failed. */
    get isBlocked(): boolean {
      return hasFailed && isFull()
    },
    takeDropped(): number {
      const taken = dropped
      dropped = 0
      return taken
    },
    /** Adds a redelivery. It is dropped if there is no room. */
    add(delivery: RepeatedDelivery): void {
      const key = nameOfCount(delivery)
      const present = counted.get(key)
      if (present !== undefined) {
        present.times += 1
      } else if (isFull()) {
        dropped += 1
        onDropped()
      } else {
        counted.set(key, { ...delivery, times: 1, auditId: new ObjectId() })
      }
    },
    /** Writes all that was added before, in batches. Resolves to the number of those that stay, and why. Never throws. */
    async writeAll(write: (batch: readonly Counted[]) => Promise<void>): Promise<{ waiting: number; error?: unknown }> {
      open = [...counted.values()]
      counted = new Map()
      try {
        while (open.length > 0) {
          await write(open.slice(0, WRITE_AT_ONCE))
          open.splice(0, WRITE_AT_ONCE)
        }
        hasFailed = false
        return { waiting: 0 }
      } catch (error) {
        // One of them may be the last delivery of a dead event: its provider has received 200 and will not send it again.
        const waiting = open.length
        for (const item of open.splice(0)) putBack(item)
        hasFailed = true
        return { waiting, error }
      }
    },
  }
}

function toKey({ provider, event, handler }: RepeatedDelivery): TaskKey {
  return { provider, eventId: event.id, handler }
}

function nameOfCount(delivery: RepeatedDelivery): string {
  return `${nameOfKey(toKey(delivery))}\n${delivery.bodyHash}`
}
