import type { Clock } from '@oncehook/kernel/time/clock'
import {
  type Delivery,
  type HandshakeAnswer,
  type Provider,
  signWithToken,
  singleHeader,
  unhandledReason,
  type WebhookEvent,
} from '@oncehook/webhooks/providers'
import { notStored, signatureInvalid } from '../errors.ts'
import { refuseMediaType } from '../http/media-type.ts'
import type { Evidence, Inbox, Offer, Recorded } from '../inbox/inbox.ts'
import type { Transmissions } from '../inbox/transmissions.ts'
import { CHALLENGE, checkedInTime, confirmEvents } from './confirm-events.ts'
import type { FindWanting } from './find-wanting.ts'

export interface ReceiveDeps {
  readonly inbox: Pick<Inbox, 'record' | 'recordBatch'>
  readonly transmissions: Transmissions
  readonly clock: Clock
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
  const receivedAt = new Date(deps.clock.now())
  const verdict = provider.verify(delivery, receivedAt.getTime(), deps.fetch)
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
    receivedAt,
    signsTime: provider.signsTime,
  }
  const read = provider.readEvents(verified)
  const isProven = provider.confirm === undefined && verified.transmission === undefined
  const events = isProven ? read : await confirmEvents(deps, read, { ...received, verified })
  const stored = { secretId, events: await storeEvents(deps, evidence, { events, endsAt }) }
  return verified.refusedItems === undefined ? stored : { ...stored, refusedItems: verified.refusedItems }
}

/** Stores all events of a delivery, or throws: storing only some of them is not a success. */
async function storeEvents(
  deps: ReceiveDeps,
  evidence: Evidence,
  { events, endsAt }: { readonly events: readonly WebhookEvent[]; readonly endsAt: number },
): Promise<readonly StoredEvent[]> {
  const find = deps.findWanting?.(evidence)
  const offers = firstOfEachId(events).map((event) => ({ event, wantedBy: find?.(event) }))
  const [first, second] = offers
  if (first === undefined) return []
  const outcomes =
    second === undefined
      ? [await deps.inbox.record({ ...evidence, ...first })]
      : await deps.inbox.recordBatch({ evidence, offers, endsAt })
  return offers.map((offer, at) => ({ event: offer.event, outcome: toOutcome(offer, outcomes[at]) }))
}

/** If several events have the same id, the first one counts, as in separate deliveries. */
function firstOfEachId(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  if (events.length < 2) return events
  return [...Map.groupBy(events, ({ id }) => id).values()].flatMap(([event]) => event ?? [])
}

/** @throws notStored */
function toOutcome({ event, wantedBy = [] }: Offer, recorded: Recorded | undefined): StoredEvent['outcome'] {
  if (recorded === undefined || recorded === 'not_stored') throw notStored()
  if (recorded === 'duplicate') return 'duplicate'
  return wantedBy.length > 0 || unhandledReason(event) === null ? 'recorded' : 'unhandled'
}

const ALWAYS_KEPT = ['content-type', 'user-agent']
const MOST_KEPT_LENGTH = 2_048

/**
 * Returns the headers to store with an event: the ones needed to verify its signature again, and two that help to
 * understand it. This is an allow-list, because some providers have sent secrets in custom headers. If a plaintext token is
 * itself the secret, only a signature made with it is stored.
 */
export function storedHeaders(
  provider: Pick<Provider, 'signedHeaders' | 'coveredHeaders' | 'staticTokenHeader'>,
  delivery: Delivery,
): Record<string, string> {
  const kept: Record<string, string> = {}
  const covered = provider.coveredHeaders?.(delivery) ?? []
  for (const name of [...provider.signedHeaders, ...covered, ...ALWAYS_KEPT]) {
    const value = singleHeader(delivery.rawHeaders, name)
    if (value === null || value.length > MOST_KEPT_LENGTH) continue
    kept[name] = name === provider.staticTokenHeader ? signWithToken(value, delivery.rawBody) : value
  }
  return kept
}
