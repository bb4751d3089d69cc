import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import { ObjectId } from 'mongodb'
import { type BodiesDeps, createBodies } from '../bodies.ts'
import { EVENTS, type EventDocument } from '../event-document.ts'
import { GROUP_LIMITS } from '../group-limits.ts'
import { counterOf } from '../record-expressions.ts'
import { nameByKey, nameOfKey } from '../record-key.ts'
import { createPeriodicFlush } from '../statistics/periodic-flush.ts'
import { requeueDead } from '../transitions.ts'
import { createEvidenceRoom } from './evidence-room.ts'
import { type DeadRecord, readDead } from './read-dead.ts'
import { type ReportDeps, reportWritten, type WrittenDelivery } from './report-written.ts'
import { checkRequeue, type RequeueLimits } from './requeue-dead.ts'
import { type RestoreDeps, type RevivedBody, restoreBodies } from './restore-bodies.ts'
import {
  type Counted,
  createUnwrittenCounts,
  type RepeatedDelivery,
  toKey,
  type Unwritten,
} from './unwritten-counts.ts'

/** A dead event that a redelivery revives. */
export interface Requeued {
  readonly auditId: ObjectId
  readonly id: string
  readonly provider: string
  readonly eventId: string
  readonly reason: string | null
}

/** Dependencies of the counter. `flushMs` is how long a count may wait in memory. */
export interface RedeliveryCounterDeps extends RequeueLimits, BodiesDeps, ReportDeps {
  readonly flushMs: number
  /** A redelivery is neither counted nor can it revive its event, because too many others wait. */
  readonly onDropped: () => void
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
   * stored one. A task of a handler whose body was removed gets it again, or else stays dead.
   */
  add(delivery: RepeatedDelivery): void
  /** Whether redeliveries of further events are dropped because the database takes no counts. */
  readonly isBlocked: boolean
  /** Writes all counts so far. */
  flush(): Promise<void>
  /** Ends the periodic flush and flushes once more. */
  stop(): Promise<void>
}

/** Creates the counter and starts its periodic flush. Counts that cannot be written wait for the next flush. */
export function createRedeliveryCounter(deps: RedeliveryCounterDeps): RedeliveryCounter {
  const counts = createUnwrittenCounts(createEvidenceRoom(deps), deps.onDropped)
  const restoring = { ...deps, bodies: createBodies(deps) }
  const flusher = createPeriodicFlush(async () => {
    const { waiting, error } = await counts.writeAll((batch) => write(restoring, batch))
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

type WriteDeps = RedeliveryCounterDeps & RestoreDeps

interface CheckedDelivery extends WrittenDelivery {
  readonly record: StoredRecord | undefined
  /** Set if the record is dead. */
  readonly dead: DeadRecord | undefined
  /** How a record has the body that it needs for its revival. */
  readonly body?: RevivedBody | 'not_now' | undefined
}

async function write(deps: WriteDeps, batch: readonly Counted[]): Promise<Unwritten<readonly Counted[]>> {
  const records = await storedRecords(deps, batch)
  const dead = await readDead(deps.db, records.values())
  for (const item of batch) renewAuditId(item, records.get(nameOfKey(toKey(item))))
  const found = batch.map((item) => {
    const record = records.get(nameOfKey(toKey(item)))
    return checkDelivery(deps, { item, record, dead: dead.get(String(record?._id)) })
  })
  const checked = await withBodies(deps, found)
  const ready = checked.filter(({ body }) => body !== 'not_now')
  const { waiting, error } = await update(deps, ready)
  const later = checked.filter((one) => one.body === 'not_now' || waiting.has(one))
  return { waiting: later.map(({ item }) => item), error }
}

/** The event has died again since a revival whose reply was lost. Another revival has another entry in the audit log. */
function renewAuditId(item: Counted, record: StoredRecord | undefined): void {
  if (record?.state !== 'dead' || String(record.revivalId) !== String(item.auditId)) return
  item.auditId = new ObjectId()
  item.isAudited = false
}

type Waiting = Unwritten<ReadonlySet<CheckedDelivery>>

/** Writes the counts, then revives what is due. Resolves to the revivals that must wait. */
async function update(deps: WriteDeps, checked: readonly CheckedDelivery[]): Promise<Waiting> {
  const revivals = checked.filter(({ requeues }) => requeues === true)
  // The entry of the audit log comes first. After a crash in between, nothing is revived without an entry.
  await audit(deps, revivals)
  const counts = checked.filter(({ requeues }) => requeues !== true)
  if (counts.length > 0) {
    const { refused } = await sendUpdates(deps.db, {
      update: EVENTS,
      updates: counts.map((one) => toUpdate(one)),
    })
    const codes = new Map(refused.map(({ index, code }) => [index, code]))
    for (const [index, written] of counts.entries()) reportWritten(deps, written, codes.get(index))
  }
  return revive(deps, revivals)
}

/** Writes the entries that the audit log is not known to have. */
async function audit(deps: WriteDeps, revivals: readonly CheckedDelivery[]): Promise<void> {
  const missing = revivals.filter(({ item }) => !item.isAudited)
  const requeued = missing.flatMap(({ item, record }) => (record ? [toRequeued(item, record)] : []))
  if (requeued.length > 0) await deps.onRequeued(requeued)
  for (const { item } of missing) item.isAudited = true
}

const REVIVED_AT_ONCE = 50

/** Revives events in groups, one command after the other: claims and heartbeats need the other connections. */
async function revive(deps: WriteDeps, revivals: readonly CheckedDelivery[]): Promise<Waiting> {
  const waiting = new Set(revivals)
  try {
    for (const group of toGroups(revivals)) {
      for (const one of await reviveGroup(deps, group)) waiting.delete(one)
    }
    return { waiting }
  } catch (error) {
    return { waiting, error }
  }
}

/** Groups that fit into one command, whatever bodies they bring. */
function toGroups(revivals: readonly CheckedDelivery[]): readonly (readonly CheckedDelivery[])[] {
  const groups: CheckedDelivery[][] = []
  let bytes = 0
  for (const one of revivals) {
    const size = one.item.evidence?.rawBody.length ?? 0
    const last = groups.at(-1)
    if (last === undefined || last.length === REVIVED_AT_ONCE || bytes + size > GROUP_LIMITS.maxBytes) {
      groups.push([one])
      bytes = size
    } else {
      last.push(one)
      bytes += size
    }
  }
  return groups
}

/** Resolves to the revivals that were written or refused. The records of the others have changed meanwhile. */
async function reviveGroup(deps: WriteDeps, group: readonly CheckedDelivery[]): Promise<readonly CheckedDelivery[]> {
  const { n, refused } = await sendUpdates(deps.db, {
    update: EVENTS,
    updates: group.map((one) => toUpdate(one)),
  })
  const codes = new Map(refused.map(({ index, code }) => [index, code]))
  // The reply has only the number of the records that were still dead.
  const revived = n + refused.length === group.length ? null : await findRevived(deps, group)
  return group.filter((one, index) => {
    const code = codes.get(index)
    if (code === undefined && revived?.has(String(one.item.auditId)) === false) return false
    reportWritten(deps, one, code)
    return true
  })
}

/** The revivals that a majority has, by the ids of their entries in the audit log: another gateway has its own. */
async function findRevived({ db }: WriteDeps, group: readonly CheckedDelivery[]): Promise<ReadonlySet<string>> {
  const _id = { $in: group.flatMap(({ record }) => record?._id ?? []) }
  const revivalId = { $in: group.map(({ item }) => item.auditId) }
  const found = await db
    .collection<EventDocument>(EVENTS)
    .find({ _id, revivalId }, { readConcern: 'majority' })
    .project<Pick<EventDocument, 'revivalId'>>({ _id: 0, revivalId: 1 })
    .toArray()
  return new Set(found.map((one) => String(one.revivalId)))
}

function checkDelivery(
  deps: RedeliveryCounterDeps,
  { item, record, dead }: Pick<CheckedDelivery, 'item' | 'record' | 'dead'>,
): CheckedDelivery {
  const differs = record !== undefined && record.bodyHash !== item.bodyHash
  const isDead = record !== undefined && dead !== undefined
  const requeues = isDead && !differs ? checkRequeue({ ...record, ageMs: dead.ageMs }, deps) : null
  return { item, record, dead, differs, requeues }
}

/** Adds the removed bodies to what is revived. What would have no body stays dead. */
async function withBodies(deps: RestoreDeps, checked: readonly CheckedDelivery[]): Promise<readonly CheckedDelivery[]> {
  const revivals = checked.flatMap(({ item: { evidence, bodyId }, record, dead, requeues }) =>
    requeues === true && record && dead ? [{ dead, record, evidence, bodyId }] : [],
  )
  if (revivals.length === 0) return checked
  const restored = await restoreBodies(deps, revivals)
  return checked.map((one) => {
    const body = one.requeues === true ? restored.get(String(one.record?._id)) : undefined
    return body === 'body_missing' ? { ...one, requeues: body } : { ...one, body }
  })
}

// A classic update: a pipeline, which only a revival needs, costs the database 30 µs more for each record.
function toUpdate(checked: CheckedDelivery): object {
  const { item, differs, requeues, body } = checked
  const q = nameByKey(toKey(item))
  const mismatches = differs ? item.times : 0
  if (requeues !== true) {
    return { q, u: { $inc: { deliveries: item.times, mismatches }, $currentDate: { lastDeliveryAt: true } } }
  }
  const counted = { deliveries: { $add: [counterOf('deliveries'), item.times] }, lastDeliveryAt: '$$NOW' }
  const { filter, stages } = typeof body === 'object' ? body : NEEDS_NONE
  return {
    q: { ...q, ...filter, state: 'dead' },
    u: [{ $set: counted }, ...stages, requeueDead(item.event, item.auditId)],
  }
}

const NEEDS_NONE: RevivedBody = { filter: {}, stages: [] }

function toRequeued({ auditId }: Counted, { _id, provider, eventId, reason }: StoredRecord): Requeued {
  return { auditId, id: String(_id), provider, eventId, reason }
}

type StoredRecord = Pick<
  EventDocument,
  '_id' | 'provider' | 'eventId' | 'handler' | 'bodyHash' | 'state' | 'reason' | 'revivals' | 'revivalId'
>

const STORED_MEMBERS = {
  ...{ provider: 1, eventId: 1, handler: 1, bodyHash: 1 },
  ...{ state: 1, reason: 1, revivals: 1, revivalId: 1 },
}

async function storedRecords({ db }: WriteDeps, batch: readonly Counted[]): Promise<Map<string, StoredRecord>> {
  if (batch.length === 0) return new Map()
  const $or = batch.map(({ provider, event }) => ({ provider, eventId: event.id }))
  const stored = await db.collection(EVENTS).find<StoredRecord>({ $or }, { projection: STORED_MEMBERS }).toArray()
  return new Map(stored.map((record) => [nameOfKey(record), record]))
}
