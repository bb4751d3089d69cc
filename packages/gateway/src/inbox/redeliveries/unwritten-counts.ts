import type { WebhookEvent } from '@oncehook/webhooks/providers'
import { ObjectId } from 'mongodb'
import { nameOfKey, type RecordKey } from '../record-key.ts'
import type { BroughtEvidence, EvidenceRoom } from './evidence-room.ts'

/** A redelivery: a delivery of an event that is already stored. */
export interface RepeatedDelivery {
  readonly provider: string
  readonly bodyHash: string
  /** The event, read with the current settings. */
  readonly event: WebhookEvent
  /** The handler of the task that is meant, if it is the task of one. */
  readonly handler?: string | undefined
  /** Whether the same delivery is counted on another task, which reports another body. */
  readonly isFurther?: boolean | undefined
  /** What the redelivery brings, and the document for its body if it has several events or tasks. Default: nothing. */
  readonly evidence?: BroughtEvidence | undefined
  readonly bodyId?: string | undefined
}

/** The redeliveries of one record that are not written yet. */
export interface Counted extends RepeatedDelivery {
  times: number
  evidence: BroughtEvidence | undefined
  /** Stays the same if the entry of the audit log has to be written again. */
  auditId: ObjectId
  /** Whether the audit log is known to have that entry. */
  isAudited: boolean
}

/** What a write leaves: the counts that must wait, and why if something failed. */
export interface Unwritten<Item> {
  readonly waiting: Item
  readonly error?: unknown
}

/** Writes counts. */
type WriteCounts = (batch: readonly Counted[]) => Promise<Unwritten<readonly Counted[]>>

/** The redeliveries that are not written yet. Their number and what they bring are bounded, also during a write. */
export interface UnwrittenCounts {
  /** Whether there is no room for redeliveries of further events, and the last write failed. */
  readonly isBlocked: boolean
  /** Adds a redelivery. It is dropped if there is no room. */
  add(delivery: RepeatedDelivery): void
  /** How many were dropped since the last call. */
  takeDropped(): number
  /** Writes all that was added before, in batches. Resolves to the number of those that stay. Never throws. */
  writeAll(write: WriteCounts): Promise<Unwritten<number>>
}

// Redeliveries of more different events than this are dropped.
const MAX_COUNTED = 10_000
const WRITE_AT_ONCE = 500

/** Creates the counts. What redeliveries bring has its room until it is written. */
export function createUnwrittenCounts(room: EvidenceRoom, onDropped: () => void): UnwrittenCounts {
  let counted = new Map<string, Counted>()
  let open: Counted[] = []
  let dropped = 0
  let hasFailed = false
  const isFull = (): boolean => counted.size + open.length >= MAX_COUNTED
  const putBack = (item: Counted): void => {
    const key = nameOfCount(item)
    const newer = counted.get(key)
    counted.set(key, newer === undefined ? item : join(item, newer))
    if (newer?.evidence !== undefined) room.release(item.evidence)
  }
  const settle = (batch: readonly Counted[], waiting: readonly Counted[]): void => {
    const kept = new Set(waiting)
    for (const item of batch) {
      if (kept.has(item)) putBack(item)
      else room.release(item.evidence)
    }
  }
  return {
    get isBlocked() {
      return hasFailed && isFull()
    },
    takeDropped() {
      const taken = dropped
      dropped = 0
      return taken
    },
    add(delivery) {
      const key = nameOfCount(delivery)
      const present = counted.get(key)
      if (present !== undefined) {
        present.times += 1
        present.evidence ??= room.keep(delivery)
      } else if (isFull()) {
        dropped += 1
        onDropped()
      } else {
        counted.set(key, {
          auditId: new ObjectId(),
          isAudited: false,
          ...delivery,
          times: 1,
          evidence: room.keep(delivery),
        })
      }
    },
    async writeAll(write) {
      open = [...counted.values()]
      counted = new Map()
      let waiting = 0
      let failed: unknown
      try {
        while (open.length > 0) {
          const { waiting: later, error } = await write(open.slice(0, WRITE_AT_ONCE))
          settle(open.splice(0, WRITE_AT_ONCE), later)
          waiting += later.length
          failed ??= error
        }
        hasFailed = failed !== undefined
        return { waiting, error: failed }
      } catch (error) {
        // One of them may be the last delivery of a dead event: its provider has received 200 and will not send it again.
        waiting += open.length
        for (const item of open.splice(0)) putBack(item)
        hasFailed = true
        return { waiting, error }
      }
    },
  }
}

/** The record that a redelivery is of. */
export function toKey({ provider, event, handler }: RepeatedDelivery): RecordKey {
  return { provider, eventId: event.id, handler }
}

function nameOfCount(delivery: RepeatedDelivery): string {
  return `${nameOfKey(toKey(delivery))}\n${delivery.bodyHash}`
}

function join(item: Counted, newer: Counted): Counted {
  const { auditId, isAudited, times, evidence } = item
  return { ...newer, auditId, isAudited, times: times + newer.times, evidence: newer.evidence ?? evidence }
}
