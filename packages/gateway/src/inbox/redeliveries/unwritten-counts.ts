import type { WebhookEvent } from '@oncehook/webhooks/providers'
import { ObjectId } from 'mongodb'
import { nameOfKey, type RecordKey } from '../record-key.ts'

/** A redelivery: a delivery of an event that is already stored. */
export interface RepeatedDelivery {
  readonly provider: string
  readonly bodyHash: string
  /** The event, read with the current settings. */
  readonly event: WebhookEvent
  /** The handler of the task that is meant. */
  readonly handler: string
  /** Whether the same delivery is counted on another task, which reports another body. */
  readonly isFurther?: boolean | undefined
}

/** The redeliveries of one record that are not written yet. */
export interface Counted extends RepeatedDelivery {
  times: number
  /** Stays the same if the entry of the audit log has to be written again. */
  readonly auditId: ObjectId
  /** Whether the audit log is known to have that entry. */
  isAudited: boolean
}

/** The redeliveries that are not written yet. Their number is bounded, also during a write. */
export interface UnwrittenCounts {
  /** Whether there is no room for redeliveries of further events, and the last write failed. */
  readonly isBlocked: boolean
  /** Adds a redelivery. It is dropped if there is no room. */
  add(delivery: RepeatedDelivery): void
  /** How many were dropped since the last call. */
  takeDropped(): number
  /** Writes all that was added before, in batches. Resolves to the number of those that stay, and why. Never throws. */
  writeAll(write: (batch: readonly Counted[]) => Promise<void>): Promise<{ waiting: number; error?: unknown }>
}

// Redeliveries of more different events than this are dropped.
const MAX_COUNTED = 10_000
const WRITE_AT_ONCE = 500

/** Creates the counts. */
export function createUnwrittenCounts(onDropped: () => void): UnwrittenCounts {
  let counted = new Map<string, Counted>()
  let open: Counted[] = []
  let dropped = 0
  let hasFailed = false
  const isFull = (): boolean => counted.size + open.length >= MAX_COUNTED
  const putBack = (item: Counted): void => {
    const key = nameOfCount(item)
    const newer = counted.get(key)
    const { auditId, isAudited, times } = item
    counted.set(key, newer === undefined ? item : { ...newer, auditId, isAudited, times: times + newer.times })
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
      } else if (isFull()) {
        dropped += 1
        onDropped()
      } else {
        counted.set(key, { ...delivery, times: 1, auditId: new ObjectId(), isAudited: false })
      }
    },
    async writeAll(write) {
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

/** The record that a redelivery is of. */
export function toKey({ provider, event, handler }: RepeatedDelivery): RecordKey {
  return { provider, eventId: event.id, handler }
}

function nameOfCount(delivery: RepeatedDelivery): string {
  return `${nameOfKey(toKey(delivery))}\n${delivery.bodyHash}`
}
