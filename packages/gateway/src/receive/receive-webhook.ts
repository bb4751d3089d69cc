import type { Clock } from '@oncehook/kernel/clock'
import { unavailable } from '@oncehook/kernel/error-codes'
import { TIMED_OUT, withTimeout } from '@oncehook/kernel/with-timeout'
import {
  type Asker,
  type Delivery,
  type HandshakeAnswer,
  type Provider,
  UNSIGNED,
  unhandledReason,
  type VerifiedDelivery,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import { notChecked, notStored, signatureInvalid } from '../errors.ts'
import type { BatchArrival, Inbox, Recorded } from '../inbox/inbox.ts'
import type { Transmissions } from '../inbox/transmissions.ts'
import { evidenceOf } from './evidence.ts'
import { refuseMediaType } from './media-type.ts'

/** The reason for rejecting a delivery whose transmission arrived with another body before. */
export const TRANSMISSION_REUSED = 'transmission_reused'

/** The dependencies of `receiveWebhook`. */
export interface ReceiveDeps {
  readonly inbox: Pick<Inbox, 'record' | 'recordBatch'>
  readonly transmissions: Transmissions
  readonly clock: Clock
  readonly isHandled: (type: string) => boolean
  /** Fetches certificates, and events from providers whose signatures do not prove enough. */
  readonly fetch: typeof globalThis.fetch
}

/** A delivery, and the provider of the path on which it arrived. */
export interface ReceivedDelivery {
  readonly provider: Provider
  readonly delivery: Delivery
  readonly requestId: string
  /** The value of `performance.now()` after which nobody waits for the answer any more. */
  readonly endsAt: number
  /**
   * Asks a provider about objects if nothing else proves that a delivery is authentic. `ask` gets the kind of sender on
   * whose behalf it asks. If the provider must not be asked, it throws the error to send.
   */
  readonly askFor: <T>(objects: readonly string[], ask: (asker: Asker) => Promise<T>) => Promise<T>
}

/** The result of an accepted delivery: stored events, or the answer to a handshake. */
export type Accepted =
  | { readonly secretId: string; readonly events: readonly StoredEvent[] }
  | { readonly secretId: string; readonly handshake: HandshakeAnswer }

/** An event of a delivery, and its outcome. */
interface StoredEvent {
  readonly event: WebhookEvent
  readonly outcome: 'recorded' | 'unhandled' | 'duplicate'
}

/**
 * Verifies a delivery over its raw bytes, reads its events and stores them. When it resolves, a majority has them. Only
 * questions to others end at `endsAt`: the caller limits the wait for the database.
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
  return { secretId, events: await storeEvents(deps, { evidence, events, endsAt }) }
}

/** Binds a transmission to its first body. Its signature covers only a checksum, so it must not be valid for another body. */
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

/** Stores all events of a delivery, or throws: storing only some of them is not a success. */
function storeEvents(deps: ReceiveDeps, { evidence, events, endsAt }: BatchArrival): Promise<readonly StoredEvent[]> {
  const [first] = events
  if (first === undefined) return Promise.resolve([])
  const distinct = events.length === 1 ? events : withoutRepetitions(events)
  const { inbox } = deps
  // Nearly every delivery has one event. An array of outcomes would cost it more than its record.
  return distinct.length === 1
    ? inbox.record({ ...evidence, event: first }).then((outcome) => [storedEvent(deps, first, outcome)])
    : inbox
        .recordBatch({ evidence, events: distinct, endsAt })
        .then((outcomes) => distinct.map((event, index) => storedEvent(deps, event, outcomes[index])))
}

/** @throws notStored */
function storedEvent({ isHandled }: ReceiveDeps, event: WebhookEvent, recorded: Recorded | undefined): StoredEvent {
  if (recorded === undefined || recorded === 'not_stored') throw notStored()
  if (recorded === 'duplicate') return { event, outcome: 'duplicate' }
  return { event, outcome: unhandledReason(event, isHandled) === null ? 'recorded' : 'unhandled' }
}

/** If several events have the same id, the first one counts, as it does if they arrive in separate deliveries. */
function withoutRepetitions(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  const byId = new Map<string, WebhookEvent>()
  for (const event of events) if (!byId.has(event.id)) byId.set(event.id, event)
  return [...byId.values()]
}

/** Replaces each event with the provider's answer about it. An event that the provider does not know is treated as forged. */
async function confirmAll(
  { fetch, transmissions }: ReceiveDeps,
  events: readonly WebhookEvent[],
  received: ReceivedDelivery & { readonly verified: VerifiedDelivery },
): Promise<readonly WebhookEvent[]> {
  const { provider, endsAt, verified, askFor } = received
  const { confirm } = provider
  if (confirm === undefined) return events
  const ask = (asker: Asker) => Promise.all(events.map((event) => confirm(event, fetch, asker)))
  // If the signature covers only a checksum, a stranger who has intercepted one delivery can make us ask, too.
  const isVouchedFor = verified.secretId !== UNSIGNED && verified.transmission === undefined
  const confirmed = async (asker: Asker) => {
    await bindTransmission(transmissions.find, verified, received)
    return isVouchedFor ? askedProvider(ask(asker), endsAt) : checked(ask(asker), endsAt)
  }
  // For such an event, the provider is asked by event id.
  const objects = events.map(({ id, objectId }) => (verified.transmission === undefined ? objectId : id))
  const answers = isVouchedFor ? await confirmed('known') : await askFor(objects, confirmed)
  return answers.map((answer) => {
    if ('event' in answer) return answer.event
    throw signatureInvalid({ reason: answer.refused }, CHALLENGE)
  })
}

/** If a delivery cannot be checked now, it is checked when it is delivered again. */
async function checked<T>(verdict: Promise<T>, endsAt: number): Promise<T> {
  try {
    return await inTime(verdict, endsAt)
  } catch (error) {
    if (unavailable.is(error) || notStored.is(error)) throw notChecked(error.details, { cause: error })
    throw error
  }
}

/** If the provider cannot be asked now, it is asked when the delivery arrives again. */
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

// RFC 9110 section 15.5.2 requires a challenge. The scheme name is our choice.
const CHALLENGE = { headers: { 'WWW-Authenticate': 'Signature realm="webhooks"' } }
