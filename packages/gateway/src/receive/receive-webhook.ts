import type { Clock } from '@oncehook/kernel/clock'
import { unavailable } from '@oncehook/kernel/error-codes'
import { LATE, within } from '@oncehook/kernel/within'
import { notStored, signatureInvalid } from '../errors.ts'
import type { WebhookEvent } from '../event.ts'
import type { BatchArrival, Inbox } from '../inbox/inbox.ts'
import type { Delivery } from '../providers/delivery.ts'
import type { Provider } from '../providers/provider.ts'
import type { HandshakeAnswer } from '../providers/scheme.ts'
import { evidenceOf } from './evidence.ts'
import { refuseMediaType } from './media-type.ts'

/** What receiving works with. */
export interface ReceiveDeps {
  readonly inbox: Pick<Inbox, 'record' | 'recordBatch'>
  readonly clock: Clock
  readonly isHandled: (type: string) => boolean
  /** By which certificates are read, and from their provider events that are not signed well enough. */
  readonly fetch: typeof globalThis.fetch
}

/** A delivery with the provider whose path it came in by. */
export interface ReceivedDelivery {
  readonly provider: Provider
  readonly delivery: Delivery
  readonly requestId: string
  /** The instant of `performance.now()` at which nobody waits for the answer any more. */
  readonly endsAt: number
}

/** What an accepted delivery was: events that are stored, or a handshake that wants its answer. */
export type Accepted =
  | { readonly secretId: string; readonly events: readonly StoredEvent[] }
  | { readonly secretId: string; readonly handshake: HandshakeAnswer }

/** An event of a delivery and what became of it. */
interface StoredEvent {
  readonly event: WebhookEvent
  readonly outcome: 'recorded' | 'unhandled' | 'duplicate'
}

/**
 * Verifies a delivery over its raw bytes, reads its events and stores them: when this resolves, a majority holds them.
 * @throws signatureInvalid, unsupportedMediaType, invalidBody, eventInvalid, tooManyEvents, notStored
 */
export async function receiveWebhook(deps: ReceiveDeps, received: ReceivedDelivery): Promise<Accepted> {
  const { provider, delivery, requestId, endsAt } = received
  const verdict = provider.verify(delivery, deps.clock.now(), deps.fetch)
  const verified = verdict instanceof Promise ? await askedProvider(verdict, endsAt) : verdict
  if ('refused' in verified) throw signatureInvalid({ reason: verified.refused }, CHALLENGE)
  refuseMediaType(delivery.rawHeaders, provider.takesForms)
  const { secretId, rawBody, query } = verified
  const handshake = provider.answerHandshake(verified)
  if (handshake !== null) return { secretId, handshake }
  const headers = evidenceOf(provider, delivery)
  const evidence = {
    provider: provider.name,
    rawBody,
    query: provider.usesQuery ? query : '',
    headers,
    secretId,
    requestId,
    signsTime: provider.signsTime,
  }
  const read = provider.readEvents(verified)
  const events = provider.confirm === undefined ? read : await confirmAll(deps, read, received)
  return { secretId, events: await inTime(storeEvents(deps, { evidence, events, endsAt }), endsAt) }
}

/** Stores all events of a delivery, or throws: a part of them is not enough for an answer. */
async function storeEvents(
  { inbox, isHandled }: ReceiveDeps,
  { evidence, events, endsAt }: BatchArrival,
): Promise<readonly StoredEvent[]> {
  const [first] = events
  if (first === undefined) return []
  const distinct = events.length === 1 ? events : withoutRepetitions(events)
  const outcomes =
    distinct.length === 1
      ? [await inbox.record({ ...evidence, event: first })]
      : await inbox.recordBatch({ evidence, events: distinct, endsAt })
  return distinct.map((event, index) => {
    const recorded = outcomes[index]
    if (recorded === undefined || recorded === 'not_stored') throw notStored()
    if (recorded === 'duplicate') return { event, outcome: 'duplicate' }
    return { event, outcome: isHandled(event.type) ? 'recorded' : 'unhandled' }
  })
}

/** Of several events with one id the first counts, as it does when they come one by one. */
function withoutRepetitions(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  const byId = new Map<string, WebhookEvent>()
  for (const event of events) if (!byId.has(event.id)) byId.set(event.id, event)
  return [...byId.values()]
}

/** What the provider itself says counts; what it does not know is as good as forged. */
async function confirmAll(
  { fetch }: ReceiveDeps,
  events: readonly WebhookEvent[],
  { provider: { confirm }, endsAt }: ReceivedDelivery,
): Promise<readonly WebhookEvent[]> {
  if (confirm === undefined) return events
  const answers = await askedProvider(Promise.all(events.map((event) => confirm(event, fetch))), endsAt)
  return answers.map((answer) => {
    if ('event' in answer) return answer.event
    throw signatureInvalid({ reason: answer.refused }, CHALLENGE)
  })
}

/** What could not be asked now is asked again when the delivery comes again. */
async function askedProvider<T>(promise: Promise<T>, endsAt: number): Promise<T> {
  try {
    return await inTime(promise, endsAt)
  } catch (error) {
    throw unavailable.is(error) ? notStored(error.details, { cause: error }) : error
  }
}

async function inTime<T>(promise: Promise<T>, endsAt: number): Promise<T> {
  const value = await within(promise, Math.max(0, endsAt - performance.now()))
  if (value === LATE) throw notStored({ late: true })
  return value
}

// RFC 9110 section 15.5.2 demands a challenge; the name of the scheme is ours.
const CHALLENGE = { headers: { 'WWW-Authenticate': 'Signature realm="webhooks"' } }
