import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import type { Document } from 'mongodb'

const DAY_MS = 86_400_000

/** How long settled events are kept, in milliseconds. */
export interface Retention {
  /**
   * The retention of the record. If its key must stay, everything except the key is removed. A dead event is not
   * removed.
   */
  readonly retentionMs: number
  /** The retention of the body, its headers and its query, in every settled state. */
  readonly bodyRetentionMs: number
}

/** Reads the retention from the settings. By default a body is kept as long as its record. */
export function readRetention(settings: {
  readonly EVENT_RETENTION_DAYS: number
  readonly BODY_RETENTION_DAYS?: number | undefined
}): Retention {
  const { EVENT_RETENTION_DAYS: days, BODY_RETENTION_DAYS: bodyDays = days } = settings
  return { retentionMs: days * DAY_MS, bodyRetentionMs: bodyDays * DAY_MS }
}

/** How long the body of a record that ends is kept, in milliseconds. */
export function bodyMsOf({ retentionMs, bodyRetentionMs }: Retention): number {
  return Math.min(retentionMs, bodyRetentionMs)
}

/** The dates of a record that is settled now and will end: done, unhandled or closed. */
export function datesOfEnding(retention: Retention): Document {
  const end = fromNow(retention.retentionMs)
  const bodyEnd = fromNow(bodyMsOf(retention))
  const isShorter = bodyMsOf(retention) < retention.retentionMs
  return {
    expireAt: { $cond: [KEEPS_KEY, '$$REMOVE', end] },
    stripAt: isShorter ? bodyEnd : { $cond: [KEEPS_KEY, bodyEnd, '$$REMOVE'] },
  }
}

/** The dates of a record that becomes dead now. The record stays, its body does not. */
export function datesOfDead({ bodyRetentionMs }: Retention): Document {
  return { stripAt: fromNow(bodyRetentionMs) }
}

const KEEPS_KEY = { $eq: ['$keepKey', true] }
