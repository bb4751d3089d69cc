import type { Clock } from '@oncehook/kernel/clock'
import {
  type Delivery,
  type HandshakeAnswer,
  type Provider,
  unhandledReason,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import { notStored, signatureInvalid } from '../errors.ts'
import type { FindWanting } from '../handlers/events/find-wanting.ts'
import type { Evidence, Inbox, Recorded } from '../inbox/inbox.ts'
import type { TaskWish } from '../inbox/lines/line.ts'
import type { BatchArrival } from '../inbox/record-batch.ts'
import type { Transmissions } from '../inbox/transmissions.ts'
import { CHALLENGE, confirmEvents } from './confirm-events.ts'
import { checkedInTime } from './deadlines.ts'
import { refuseMediaType } from './media-type.ts'
import { storedHeaders } from './stored-headers.ts'
import { withoutRepetitions } from './without-repetitions.ts'

/** The dependencies of `receiveWebhook`. */
export interface ReceiveDeps {
  readonly inbox: Pick<Inbox, 'record' | 'recordBatch'>
  readonly transmissions: Transmissions
  readonly clock: Clock
  readonly isHandled: (type: string) => boolean
  /** Finds the handlers that want an event, besides fulfilment. Default: there are none. */
  readonly findWanting?: FindWanting | undefined
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
  /** Asks a provider if nothing else proves that a delivery is authentic. If it must not be asked, throws the error to send. */
  readonly askFor: <T>(ask: () => Promise<T>) => Promise<T>
}

/** The result of an accepted delivery: stored events, or the answer to a handshake. */
export type Accepted =
  | {
      readonly secretId: string
      readonly events: readonly StoredEvent[]
      /** The places of the items whose signatures do not hold. They are not stored, and the delivery must come again. */
      readonly refusedItems?: readonly number[]
    }
  | { readonly secretId: string; readonly handshake: HandshakeAnswer }

/** An event of a delivery, and its outcome. */
interface StoredEvent {
  readonly event: WebhookEvent
  readonly outcome: 'recorded' | 'unhandled' | 'duplicate'
}

/**
 * Verifies a delivery over its raw bytes, reads its events and stores them. When it resolves, a majority has them. Only
 * questions to others end at `endsAt`: the caller limits the wait for the database.
 * @throws signatureInvalid, unsupportedMediaType, invalidBody, eventInvalid, notStored, notChecked, overloaded
 */
export async function receiveWebhook(deps: ReceiveDeps, received: ReceivedDelivery): Promise<Accepted> {
  const { provider, delivery, requestId, endsAt } = received
  const verdict = provider.verify(delivery, deps.clock.now(), deps.fetch)
  const verified = verdict instanceof Promise ? await checkedInTime(verdict, endsAt) : verdict
  if ('refused' in verified) throw signatureInvalid({ reason: verified.refused }, CHALLENGE)
  // The header is not signed: what is authentic is read, whatever it says.
  if (provider.refusesUnreadable) refuseMediaType(delivery.rawHeaders, provider.takesForms)
  const { secretId, rawBody, query } = verified
  const handshake = provider.answerHandshake(verified)
  if (handshake !== null) return { secretId, handshake }
  const evidence = {
    provider: provider.name,
    rawBody,
    query: provider.usesQuery ? query : '',
    headers: storedHeaders(provider, delivery),
    secretId,
    requestId,
    signsTime: provider.signsTime,
  }
  const read = provider.readEvents(verified)
  const isProven = provider.confirm === undefined && verified.transmission === undefined
  const events = isProven ? read : await confirmEvents(deps, read, { ...received, verified })
  const stored = { secretId, events: await storeEvents(deps, { evidence, events, endsAt }) }
  return verified.refusedItems === undefined ? stored : { ...stored, refusedItems: verified.refusedItems }
}

/** Stores all events of a delivery, or throws: storing only some of them is not a success. */
function storeEvents(deps: ReceiveDeps, { evidence, events, endsAt }: BatchArrival): Promise<readonly StoredEvent[]> {
  const [first] = events
  if (first === undefined) return Promise.resolve([])
  const distinct = events.length === 1 ? events : withoutRepetitions(events)
  // Nearly every delivery has one event. An array of outcomes would cost it more than its record.
  if (distinct.length === 1) {
    const wanted = offers(deps, evidence)(first)
    return deps.inbox.record({ ...evidence, ...wanted }).then((outcome) => [storedEvent(deps, wanted, outcome)])
  }
  const offered = new Map(distinct.map(offers(deps, evidence)).map((one) => [one.event, one]))
  return deps.inbox
    .recordBatch({ evidence, events: distinct, wantedBy: (event) => offered.get(event)?.wantedBy, endsAt })
    .then((outcomes) => [...offered.values()].map((event, index) => storedEvent(deps, event, outcomes[index])))
}

/** An event, and the handlers that want it. Absent: none are configured. */
interface Wanted {
  readonly event: WebhookEvent
  readonly wantedBy?: readonly TaskWish[]
}

/** Its own function, so that the parsed body does not stay in memory while the database writes. */
function offers({ findWanting }: ReceiveDeps, evidence: Evidence): (event: WebhookEvent) => Wanted {
  const find = findWanting?.(evidence)
  return (event) => (find === undefined ? { event } : { event, wantedBy: find(event) })
}

/** @throws notStored */
function storedEvent(
  { isHandled }: ReceiveDeps,
  { event, wantedBy = [] }: Wanted,
  recorded: Recorded | undefined,
): StoredEvent {
  if (recorded === undefined || recorded === 'not_stored') throw notStored()
  if (recorded === 'duplicate') return { event, outcome: 'duplicate' }
  const isWanted = wantedBy.length > 0 || unhandledReason(event, isHandled) === null
  return { event, outcome: isWanted ? 'recorded' : 'unhandled' }
}
