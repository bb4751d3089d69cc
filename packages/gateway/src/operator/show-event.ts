import type { EventDocument } from '../inbox/event-document.ts'

/** An event as operators see it in lists. Times are ISO 8601, UTC. */
export interface ShownEvent {
  readonly id: string
  readonly provider: string
  readonly eventId: string
  readonly type: string
  readonly objectId: string
  readonly orderId: string
  readonly state: EventDocument['state']
  readonly reason: string | null
  readonly starts: number
  readonly deliveries: number
  readonly mismatches: number
  readonly receivedAt: string
  readonly dueAt: string | null
  readonly settledAt: string | null
}

/** The members that a list needs: the bodies stay where they are. */
export const LIST_PROJECTION = { raw: 0, headers: 0, attempts: 0, facts: 0 } as const

/** Shows a record in the form of a list. */
export function showEvent(record: Omit<EventDocument, 'raw' | 'headers' | 'attempts' | 'facts'>): ShownEvent {
  const { _id, provider, eventId, type, objectId, orderId, state, reason, starts, deliveries, mismatches } = record
  return {
    id: String(_id),
    provider,
    eventId,
    type,
    objectId,
    orderId,
    state,
    reason,
    starts,
    deliveries,
    mismatches,
    receivedAt: record.receivedAt.toISOString(),
    dueAt: record.dueAt?.toISOString() ?? null,
    settledAt: record.settledAt?.toISOString() ?? null,
  }
}

/** An event with everything that is kept of it. */
export interface ShownEventDetails extends ShownEvent {
  readonly headers: Readonly<Record<string, string>>
  /** The exact bytes of the body, base64. */
  readonly raw: string
  readonly secretId: string
  readonly attempts: readonly {
    readonly at: string
    readonly ms: number
    readonly outcome: string
    readonly code: string | null
    readonly message: string | null
  }[]
  readonly lastError: { readonly code: string; readonly message: string; readonly at: string } | null
  readonly outcome: { readonly kind: string; readonly version: number | null } | null
  /** Who closed it and why; null unless it is closed. */
  readonly closed: { readonly at: string; readonly by: string; readonly reason: string } | null
  /** How often a repeated delivery has revived it. */
  readonly revivals: number
  readonly replays: readonly {
    readonly at: string
    readonly by: string
    readonly reason: string
    /** Why the body could not be read again; null where it was. */
    readonly notRead: string | null
  }[]
}

/** Shows a whole record. */
export function showEventDetails(record: EventDocument): ShownEventDetails {
  return {
    ...showEvent(record),
    headers: record.headers,
    raw: Buffer.from(record.raw.buffer).toString('base64'),
    secretId: record.secretId,
    attempts: record.attempts.map((attempt) => ({ ...attempt, at: attempt.at.toISOString() })),
    lastError: record.lastError === null ? null : { ...record.lastError, at: record.lastError.at.toISOString() },
    outcome: record.outcome,
    closed: record.closed === undefined ? null : { ...record.closed, at: record.closed.at.toISOString() },
    revivals: record.revivals ?? 0,
    replays: (record.replays ?? []).map(({ at, by, reason, notRead = null }) => ({
      at: at.toISOString(),
      by,
      reason,
      notRead,
    })),
  }
}
