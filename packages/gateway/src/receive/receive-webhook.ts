import type { Clock } from '@oncehook/kernel/clock'
import { LATE, within } from '@oncehook/kernel/within'
import { notStored, signatureInvalid } from '../errors.ts'
import type { WebhookEvent } from '../event.ts'
import type { Inbox } from '../inbox/inbox.ts'
import type { Delivery } from '../providers/delivery.ts'
import type { Provider } from '../providers/provider.ts'
import { evidenceOf } from './evidence.ts'
import { refuseMediaType } from './media-type.ts'

/** What receiving works with. */
export interface ReceiveDeps {
  readonly inbox: Pick<Inbox, 'record'>
  readonly clock: Clock
  readonly isHandled: (type: string) => boolean
}

/** A delivery with the provider whose path it came in by. */
export interface ReceivedDelivery {
  readonly provider: Provider
  readonly delivery: Delivery
  readonly requestId: string
}

/** What an accepted delivery was. */
export interface Accepted {
  readonly outcome: 'recorded' | 'unhandled' | 'duplicate'
  readonly event: WebhookEvent
  readonly secretId: string
}

// Below the 10 s within which every request is answered.
const STORE_MS = 8_000

/**
 * Verifies a delivery over its raw bytes, reads the event and stores it: when this resolves, a majority holds the event.
 * @throws signatureInvalid, unsupportedMediaType, invalidBody, eventInvalid, notStored
 */
export async function receiveWebhook(deps: ReceiveDeps, received: ReceivedDelivery): Promise<Accepted> {
  const { provider, delivery, requestId } = received
  const verified = provider.verify(delivery, deps.clock.now())
  if ('refused' in verified) throw signatureInvalid({ reason: verified.refused }, CHALLENGE)
  refuseMediaType(delivery.rawHeaders)
  const event = provider.readEvent(verified)
  const { secretId, rawBody } = verified
  const headers = evidenceOf(delivery.rawHeaders, provider.signedHeaders)
  const { name, signsTime } = provider
  const arrival = { provider: name, event, rawBody, headers, secretId, requestId, signsTime }
  const recorded = await within(deps.inbox.record(arrival), STORE_MS)
  if (recorded === LATE || recorded === 'not_stored') throw notStored({ late: recorded === LATE })
  if (recorded === 'duplicate') return { outcome: 'duplicate', event, secretId }
  return { outcome: deps.isHandled(event.type) ? 'recorded' : 'unhandled', event, secretId }
}

// RFC 9110 section 15.5.2 demands a challenge; the name of the scheme is ours.
const CHALLENGE = { headers: { 'WWW-Authenticate': 'Signature realm="webhooks"' } }
