import type { Clock } from '@oncehook/kernel/clock'
import { unavailable } from '@oncehook/kernel/error-codes'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'
import type { Delivery, VerifiedDelivery } from '@oncehook/webhooks/delivery'
import { unhandledReason, type WebhookEvent } from '@oncehook/webhooks/event'
import type { Provider } from '@oncehook/webhooks/provider'
import { type HandshakeAnswer, UNSIGNED } from '@oncehook/webhooks/scheme'
import type { Asker } from '@oncehook/webhooks/shared-questions'
import { notChecked, notStored, signatureInvalid } from '../errors.ts'
import type { BatchArrival, Inbox } from '../inbox/inbox.ts'
import type { Transmissions } from '../inbox/transmissions.ts'
import { evidenceOf } from './evidence.ts'
import { refuseMediaType } from './media-type.ts'

/** Why a delivery is refused whose transmission came with another body before. */
export const TRANSMISSION_REUSED = 'transmission_reused'

/** What receiving works with. */
export interface ReceiveDeps {
  readonly inbox: Pick<Inbox, 'record' | 'recordBatch'>
  readonly transmissions: Transmissions
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
  /**
   * Has a provider asked about objects where nothing vouches for a delivery, and tells who asks then. It throws what the sender
   * is answered where the provider is not to be asked.
   */
  readonly askFor: <T>(objects: readonly string[], ask: (asker: Asker) => Promise<T>) => Promise<T>
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
 * @throws signatureInvalid, unsupportedMediaType, invalidBody, eventInvalid, tooManyEvents, notStored, notChecked,
 * overloaded
 */
export async function receiveWebhook(deps: ReceiveDeps, received: ReceivedDelivery): Promise<Accepted> {
  const { provider, delivery, requestId, endsAt } = received
  const verdict = provider.verify(delivery, deps.clock.now(), deps.fetch)
  const verified = verdict instanceof Promise ? await checked(verdict, endsAt) : verdict
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
  const events = provider.confirm === undefined ? read : await confirmAll(deps, read, { ...received, verified })
  if (verified.transmission !== undefined) await bindTransmission(deps.transmissions.bind, verified, received)
  return { secretId, events: await inTime(storeEvents(deps, { evidence, events, endsAt }), endsAt) }
}

/** A signature that covers only a checksum of the body counts with the body that came with it first. */
async function bindTransmission(
  bind: Transmissions['bind'],
  { transmission, rawBody }: VerifiedDelivery,
  { provider, endsAt }: ReceivedDelivery,
): Promise<void> {
  if (transmission === undefined) return
  const bound = await inTime(bind({ ...transmission, provider: provider.name, rawBody }), endsAt)
  if (bound === 'unknown') throw notStored()
  if (bound === 'reused') {
    throw signatureInvalid({ reason: TRANSMISSION_REUSED, transmissionId: transmission.id }, CHALLENGE)
  }
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
    return { event, outcome: unhandledReason(event, isHandled) === null ? 'recorded' : 'unhandled' }
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
  { fetch, transmissions }: ReceiveDeps,
  events: readonly WebhookEvent[],
  received: ReceivedDelivery & { readonly verified: VerifiedDelivery },
): Promise<readonly WebhookEvent[]> {
  const { provider, endsAt, verified, askFor } = received
  const { confirm } = provider
  if (confirm === undefined) return events
  const ask = (asker: Asker) => Promise.all(events.map((event) => confirm(event, fetch, asker)))
  // A signature over a checksum lets a stranger who has caught one delivery make us ask, too.
  const isVouchedFor = verified.secretId !== UNSIGNED && verified.transmission === undefined
  const confirmed = async (asker: Asker) => {
    await bindTransmission(transmissions.find, verified, received)
    return isVouchedFor ? askedProvider(ask(asker), endsAt) : checked(ask(asker), endsAt)
  }
  // Of such an event the provider is asked by its id.
  const objects = events.map(({ id, objectId }) => (verified.transmission === undefined ? objectId : id))
  const answers = isVouchedFor ? await confirmed('known') : await askFor(objects, confirmed)
  return answers.map((answer) => {
    if ('event' in answer) return answer.event
    throw signatureInvalid({ reason: answer.refused }, CHALLENGE)
  })
}

/** What could not be checked now is checked when the delivery comes again. */
async function checked<T>(verdict: Promise<T>, endsAt: number): Promise<T> {
  try {
    return await inTime(verdict, endsAt)
  } catch (error) {
    if (unavailable.is(error) || notStored.is(error)) throw notChecked(error.details, { cause: error })
    throw error
  }
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
  const value = await withTimeout(promise, Math.max(0, endsAt - performance.now()))
  if (value === TIMED_OUT) throw notStored({ late: true })
  return value
}

// RFC 9110 section 15.5.2 demands a challenge; the name of the scheme is ours.
const CHALLENGE = { headers: { 'WWW-Authenticate': 'Signature realm="webhooks"' } }
