import { findAwaited } from '@oncehook/queue/order/find-lines'
import { IN_LINE_DUE_AT, lastErrorOf } from '@oncehook/queue/task'
import { ObjectId } from 'mongodb'
import { type EventDocument, FULFILMENT } from '../../inbox/event-document.ts'
import type { OperatorContext } from '../operator-trpc.ts'

/** Leaves out the fields that a list does not need, above all the bodies. */
export const LIST_PROJECTION = { raw: 0, headers: 0, sealed: 0, attempts: 0, facts: 0 } as const

/** A record as an item of a list. Times are ISO 8601, UTC. */
export function showEvent(record: Omit<EventDocument, 'raw' | 'headers' | 'attempts' | 'facts'>) {
  const { _id, provider, eventId, handler, type, objectId, orderId, state, reason, starts } = record
  const { deliveries, mismatches } = record
  return {
    id: String(_id),
    provider,
    eventId,
    // The handler whose task it is. Empty: nobody wants the event.
    handler: typeof handler === 'string' ? handler : '',
    type,
    objectId,
    orderId,
    state,
    reason,
    starts,
    deliveries,
    mismatches,
    // Whether an operator sent it as a test. Then it has no effect.
    test: record.test === true,
    receivedAt: instantOf(record.receivedAt) ?? idTimeOf(_id),
    dueAt: dueAtOf(record),
    settledAt: instantOf(record.settledAt),
  }
}

/** If an event waits in line or because its provider is paused, its due time means nothing to a reader. */
function dueAtOf({ dueAt }: Pick<EventDocument, 'dueAt'>): string | null {
  return dueAt instanceof Date && dueAt >= IN_LINE_DUE_AT ? null : instantOf(dueAt)
}

const UNKNOWN_TIME = new Date(0).toISOString()

/**
 * A stored time; null if there is none. A record that was written by other software must not hide the others of its
 * list.
 */
function instantOf(stored: unknown): string | null {
  return stored instanceof Date && !Number.isNaN(stored.getTime()) ? stored.toISOString() : null
}

function idTimeOf(id: unknown): string {
  return id instanceof ObjectId ? id.getTimestamp().toISOString() : UNKNOWN_TIME
}

function listOf<T>(stored: readonly T[] | undefined): readonly T[] {
  return Array.isArray(stored) ? stored : []
}

function withInstant<T extends { readonly at: Date }>(entry: T): Omit<T, 'at'> & { readonly at: string } {
  return { ...entry, at: instantOf(entry.at) ?? UNKNOWN_TIME }
}

// Other headers may contain signatures or tokens.
const HARMLESS = /^(?:content-type|user-agent|[a-z-]+-(?:id|timestamp|time))$/

function harmless(headers: EventDocument['headers']): EventDocument['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => HARMLESS.test(name)))
}

/**
 * A record with everything that is stored about it. The body and the headers with signatures are shown only if requested.
 * `notReadable`: `key_unknown` or `record_altered` if body and headers are encrypted and cannot be read, null if they can.
 */
export function showEventDetails(
  record: EventDocument,
  parts: { withBody: boolean; notReadable: string | null; waiting: Awaited<ReturnType<typeof explainWaiting>> },
) {
  const { withBody, notReadable, waiting } = parts
  return {
    ...showEvent(record),
    ...waiting,
    // The signature of a test event is of use to nobody but a forger.
    headers: withBody && record.test !== true ? withoutReusable(record.headers) : harmless(record.headers),
    // The exact bytes, base64.
    raw: withBody ? Buffer.from(record.raw.value()).toString('base64') : null,
    // 0 if the body cannot be read.
    bytes: record.raw.length(),
    notReadable,
    secretId: record.secretId,
    // What delivered it, as in the log of the process that has stored it.
    requestId: record.requestId,
    // What it says that was paid, in minor units. Null: it does not say it, or it cannot be read.
    amount: record.facts.amount ?? null,
    currency: record.facts.currency ?? null,
    ...showAttempts(listOf(record.attempts)),
    closed: record.closed === undefined ? null : withInstant(record.closed),
    // How many times a redelivery has revived it.
    revivals: record.again?.revivals ?? 0,
    // `notRead`: why the body could not be read again. Null if it was read.
    replays: listOf(record.replays).map(({ at, by, reason, notRead = null }) => ({
      at: instantOf(at) ?? UNKNOWN_TIME,
      by,
      reason,
      notRead,
    })),
  }
}

/** The attempts, with the last error among them, and the outcome of the last one that had none. */
function showAttempts(attempts: EventDocument['attempts']) {
  const lastError = lastErrorOf(attempts)
  const settled = attempts.findLast(({ code, outcome }) => code === null && outcome !== 'unhandled')
  return {
    attempts: attempts.map(({ version: _, ...attempt }) => withInstant(attempt)),
    lastError: lastError === null ? null : withInstant(lastError),
    outcome: settled === undefined ? null : { kind: settled.outcome, version: settled.version ?? null },
  }
}

// PayPal's signature also fits other bodies with the same checksum. It is kept to check a record again, and never
// shown.
const REUSABLE: ReadonlySet<string> = new Set(['paypal-transmission-sig'])

function withoutReusable(headers: EventDocument['headers']): EventDocument['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !REUSABLE.has(name)))
}

type Waiting = Pick<EventDocument, '_id' | 'state' | 'provider' | 'handler' | 'line'>
type WaitingContext = Pick<OperatorContext, 'db' | 'handlers' | 'handlerPauses' | 'pauses'>

/**
 * Why a pending event is not sent now, by what this process knows of pauses. `waitsFor` is the id of the earlier task of its line
 * that is still open, or null if it waits for none or the database did not answer. `notSent` says why none of these tasks is sent.
 * Costs a look at an index if the event is in a line.
 */
export async function explainWaiting(ctx: WaitingContext, event: Waiting) {
  if (event.state !== 'pending') return { waitsFor: null, notSent: null }
  const blockOnDead = ctx.handlers?.().get(event.handler)?.blockOnDead === true
  const awaited = await findAwaited(ctx.db, event, blockOnDead).catch(() => null)
  return { waitsFor: awaited === null ? null : String(awaited), notSent: whyNotSent(ctx, event) }
}

function whyNotSent(
  { handlers, handlerPauses, pauses }: WaitingContext,
  { provider, handler }: Waiting,
): 'handler_removed' | 'handler_paused' | 'provider_paused' | null {
  const settings = handlers?.().get(handler)
  if (handler !== FULFILMENT && settings === undefined) return 'handler_removed'
  if (settings?.paused === true || handlerPauses.current.has(handler)) return 'handler_paused'
  return pauses.current.has(provider) ? 'provider_paused' : null
}
