import { fromNow } from '@oncehook/kernel/mongo/database-clock'
import type { EndFields } from '@oncehook/queue/transitions'
import type { Document } from 'mongodb'

const DAY_MS = 86_400_000

/** How long settled events are kept, in milliseconds. */
export interface Retention {
  /** After it, only the key is left if that must stay. A dead event is not removed. */
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

export function bodyMsOf({ retentionMs, bodyRetentionMs }: Retention): number {
  return Math.min(retentionMs, bodyRetentionMs)
}

/** The dates of a record that is settled now: one that will end, or a dead one, which stays without its body. */
export function endFields(retention: Retention): EndFields {
  const end = fromNow(retention.retentionMs)
  const bodyEnd = fromNow(bodyMsOf(retention))
  const isShorter = bodyMsOf(retention) < retention.retentionMs
  return {
    ended: {
      expireAt: { $cond: [KEEPS_KEY, '$$REMOVE', end] },
      stripAt: isShorter ? bodyEnd : { $cond: [KEEPS_KEY, bodyEnd, '$$REMOVE'] },
    },
    dead: { stripAt: fromNow(retention.bodyRetentionMs) },
  }
}

/** The dates of a closed record. Its key is kept permanently: a later delivery would otherwise count as new. */
export function closedFields(retention: Retention): Document {
  return { stripAt: fromNow(bodyMsOf(retention)) }
}

/** The dates of a record that is settled on insert, without an effect. `signsTime`: if not, its key must stay. */
export function datesOfInsert(
  receivedAt: Date,
  signsTime: boolean,
  retention: Retention,
): { stripAt?: Date; expireAt?: Date } {
  const bodyMs = bodyMsOf(retention)
  const stripAt = new Date(receivedAt.getTime() + bodyMs)
  const expireAt = new Date(receivedAt.getTime() + retention.retentionMs)
  if (!signsTime) return { stripAt }
  return { expireAt, ...(bodyMs < retention.retentionMs ? { stripAt } : {}) }
}

/** A record that is due again has no dates. */
export const NO_DATES: Document = { stripAt: '$$REMOVE', expireAt: '$$REMOVE' }

const KEEPS_KEY = { $eq: ['$keepKey', true] }
