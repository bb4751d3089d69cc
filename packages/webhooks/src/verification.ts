import type { WebhookEvent } from './event.ts'
import type { Refusal } from './refusal.ts'
import type { SignedTransmission } from './signed-transmission.ts'

/** The result of verifying a delivery. `status` is the HTTP status to answer the provider with. */
export type Verification = Verified | Handshake | Refused | Unreadable | Undecided

/** The delivery is authentic, and its events were read. */
export interface Verified {
  readonly outcome: 'verified'
  /** 401 if there are `refusedItems`: the provider then sends the delivery again, and the events that it has already are repetitions. */
  readonly status: 200 | 401
  /** In the order of the delivery. There may be none. */
  readonly events: readonly WebhookEvent[]
  /** The id of the secret that signed; `unsigned` if the provider signs nothing and confirmed the events instead. */
  readonly secretId: string
  /**
   * Set only if the signature covers no more than a checksum of the body (PayPal without `fetch`). Store its id with a hash
   * of the body until `countsUntil`, and refuse the same id with another body.
   */
  readonly transmission?: SignedTransmission
  /**
   * Set only if items are signed one by one (Adyen), and the signatures of some do not hold: their places in the delivery. They are
   * not among `events`. A secret is missing, or somebody has added items.
   */
  readonly refusedItems?: readonly number[]
}

/** The delivery is authentic and only checks this endpoint. Send `body`; there is no event. */
export interface Handshake {
  readonly outcome: 'handshake'
  /** 204 if there is no body. */
  readonly status: 200 | 204
  /** The JSON that the provider expects, or the text. Absent with 204. */
  readonly body?: string
  /** Default: `application/json`. */
  readonly contentType?: 'text/plain'
}

/** The delivery is not authentic. The reason is for the log: do not send it. */
export interface Refused {
  readonly outcome: 'refused'
  readonly status: 401
  /** `object_unknown`: the provider was asked and does not know the object of the event. */
  readonly reason: Refusal | 'object_unknown'
}

/** The delivery is authentic, and has not the shape that its sender was told to use. */
export interface Unreadable {
  readonly outcome: 'unreadable'
  readonly status: 400
  readonly code: 'invalid_body' | 'event_invalid'
  /** A sentence that names properties but never contains values. */
  readonly message: string
}

/** The delivery cannot be verified now. The provider should deliver it again. */
export interface Undecided {
  readonly outcome: 'undecided'
  readonly status: 503
  /** The reason, for the log. */
  readonly message: string
}
