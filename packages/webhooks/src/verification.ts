import type { WebhookEvent } from './event.ts'
import type { Refusal } from './refusal.ts'
import type { SignedTransmission } from './signed-transmission.ts'

/** What a verifier says of a delivery. `status` is what the provider should be answered. */
export type Verification = Verified | Handshake | Refused | Unreadable | Undecided

/** The delivery is authentic, and these are its events. */
export interface Verified {
  readonly outcome: 'verified'
  readonly status: 200
  /** In their order; none if the delivery tells of none. */
  readonly events: readonly WebhookEvent[]
  /** The id of the secret that signed; `unsigned` if the provider signs nothing and was asked instead. */
  readonly secretId: string
  /**
   * Only if the signature covers no more than a checksum of the body (PayPal without `fetch`). Keep its id with a hash of
   * the body until `countsUntil`, and refuse the same id with another body.
   */
  readonly transmission?: SignedTransmission
}

/** The delivery is authentic and only checks this endpoint. Send the answer; there is no event. */
export interface Handshake {
  readonly outcome: 'handshake'
  /** 204 if there is nothing to say. */
  readonly status: 200 | 204
  /** JSON, as the provider wants it back. Absent with 204. */
  readonly body?: string
}

/** The delivery is not authentic. The reason is for the log: tell the sender nothing of it. */
export interface Refused {
  readonly outcome: 'refused'
  readonly status: 401
  /** `object_unknown`: the provider was asked, and does not know what the event is about. */
  readonly reason: Refusal | 'object_unknown'
}

/** The delivery is authentic, but no event can be read from it. */
export interface Unreadable {
  readonly outcome: 'unreadable'
  readonly status: 400
  readonly code: 'invalid_body' | 'event_invalid' | 'too_many_events'
  /** A sentence that names properties, never values. */
  readonly message: string
}

/** Whether the delivery is authentic could not be found out now: the provider should deliver it again. */
export interface Undecided {
  readonly outcome: 'undecided'
  readonly status: 503
  /** What could not be done, for the log. */
  readonly message: string
}
