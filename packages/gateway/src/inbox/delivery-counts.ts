import type { Logger } from '@oncehook/kernel/logger'
import { sendUpdates } from '@oncehook/kernel/mongo/bulk-update'
import type { Db } from 'mongodb'
import type { WebhookEvent } from '../event.ts'
import { EVENTS, type EventDocument } from './event-document.ts'
import { createFlusher } from './flusher.ts'

/** A delivery of an event that is stored already. */
export interface RepeatedDelivery {
  readonly provider: string
  readonly bodyHash: string
  /** What it tells, read by the settings of today. */
  readonly event: WebhookEvent
}

/** What the counter works with. `flushMs` is how long a count may wait in memory. */
export interface DeliveryCountsDeps {
  readonly db: Db
  readonly logger: Logger
  readonly flushMs: number
  readonly onMismatch: (provider: string, times: number) => void
}

/** Counts repeated deliveries on their records, in bulk and after the answer: best effort, bounded, never in the way. */
export interface DeliveryCounts {
  /** A delivery of an event that is dead makes it due again, when its body is the one that is stored. */
  add(delivery: RepeatedDelivery): void
  /** Writes what has been counted so far. */
  flush(): Promise<void>
  /** Ends the regular flushing and flushes once more. */
  stop(): Promise<void>
}

interface Counted extends RepeatedDelivery {
  times: number
}

// Beyond this many different events between two flushes further counts are dropped: they are statistics, not promises.
const MAX_COUNTED = 10_000

/** Creates the counter and starts its regular flushing. What cannot be written waits for the next flush. */
export function createDeliveryCounts(deps: DeliveryCountsDeps): DeliveryCounts {
  let counted = new Map<string, Counted>()
  const add = (delivery: RepeatedDelivery, times: number): void => {
    const key = `${delivery.provider}\n${delivery.event.id}\n${delivery.bodyHash}`
    const present = counted.get(key)
    if (present !== undefined) present.times += times
    else if (counted.size < MAX_COUNTED) counted.set(key, { ...delivery, times })
  }
  const flusher = createFlusher(async () => {
    const open = [...counted.values()]
    counted = new Map()
    try {
      while (open.length > 0) {
        await write(deps, open.slice(0, WRITE_AT_ONCE))
        open.splice(0, WRITE_AT_ONCE)
      }
    } catch (error) {
      // Among them may be the last delivery of an event that is dead: its provider has its 200 and sends no other.
      for (const item of open) add(item, item.times)
      deps.logger.warn({ error, events: open.length }, 'inbox.counts-deferred')
    }
  }, deps.flushMs)
  return { add: (delivery) => add(delivery, 1), ...flusher }
}

const WRITE_AT_ONCE = 500

async function write(deps: DeliveryCountsDeps, batch: readonly Counted[]): Promise<void> {
  const records = await storedRecords(deps.db, batch)
  const judged = batch.map((item) => {
    const record = records.get(`${item.provider}\n${item.event.id}`)
    const differs = record !== undefined && record.bodyHash !== item.bodyHash
    return { item, differs, revives: record?.state === 'dead' && !differs }
  })
  const updates = judged.map(({ item, differs, revives }) => ({
    q: { provider: item.provider, eventId: item.event.id },
    u: [
      {
        $set: {
          deliveries: { $add: ['$deliveries', item.times] },
          mismatches: { $add: ['$mismatches', differs ? item.times : 0] },
          lastDeliveryAt: '$$NOW',
        },
      },
      ...(revives ? revival(item.event) : []),
    ],
  }))
  const { refused } = await sendUpdates(deps.db, { update: EVENTS, updates })
  const failed = new Map(refused.map(({ index, code }) => [index, code]))
  for (const [index, { item, differs, revives }] of judged.entries()) {
    const code = failed.get(index)
    if (code !== undefined) {
      reportRefusal(deps, item, code)
      continue
    }
    if (differs) reportMismatch(deps, item)
    if (revives) reportRevival(deps, item)
  }
}

// Written again it would be refused again, for nothing in it changes.
function reportRefusal({ logger }: DeliveryCountsDeps, { provider, event, times }: Counted, code: number): void {
  logger.warn({ provider, eventId: event.id.slice(0, 64), times, code }, 'inbox.count-refused')
}

function reportMismatch({ logger, onMismatch }: DeliveryCountsDeps, { provider, event, times }: Counted): void {
  onMismatch(provider, times)
  logger.warn({ provider, eventId: event.id.slice(0, 64), times }, 'webhook.mismatch')
}

function reportRevival({ logger }: DeliveryCountsDeps, { provider, event }: Counted): void {
  logger.info({ provider, eventId: event.id.slice(0, 64) }, 'event.revived')
}

const whenDead = (value: unknown, member: string): object => ({
  $cond: [{ $eq: ['$state', 'dead'] }, value, `$${member}`],
})

/**
 * The provider insists: an event that failed for good gets another chance, as if an operator had asked for it, and what it
 * tells is what a mapping that was mended meanwhile reads.
 */
function revival({ type, objectId, facts: { orderId, ...facts } }: WebhookEvent): object[] {
  const read = Object.entries({ type, objectId, orderId, facts }).map(([member, value]): [string, object] => [
    member,
    whenDead({ $literal: value }, member),
  ])
  const change = {
    ...Object.fromEntries(read),
    state: whenDead('pending', 'state'),
    reason: whenDead(null, 'reason'),
    lost: whenDead(0, 'lost'),
    failures: whenDead(0, 'failures'),
    dueAt: whenDead('$$NOW', 'dueAt'),
  }
  const gone = ['firstFailedAt', 'orderUnknownSince', 'settledAt'].map((member) => [
    member,
    whenDead('$$REMOVE', member),
  ])
  return [{ $set: { ...change, ...Object.fromEntries(gone) } }]
}

type StoredRecord = Pick<EventDocument, 'provider' | 'eventId' | 'bodyHash' | 'state'>

async function storedRecords(db: Db, batch: readonly Counted[]): Promise<Map<string, StoredRecord>> {
  const stored = await db
    .collection(EVENTS)
    .find({ $or: batch.map(({ provider, event }) => ({ provider, eventId: event.id })) })
    .project<StoredRecord>({ _id: 0, provider: 1, eventId: 1, bodyHash: 1, state: 1 })
    .toArray()
  return new Map(stored.map((record) => [`${record.provider}\n${record.eventId}`, record]))
}
