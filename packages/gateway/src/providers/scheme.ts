import type { WebhookEvent } from '../event.ts'
import type { Delivery, VerifiedDelivery } from './delivery.ts'
import type { ProviderSettings } from './provider-settings.ts'
import type { LiveSecret } from './signature.ts'

/** Why a delivery is not authentic: for the log only, the sender is told nothing of it. */
export type Refusal = 'header_missing' | 'header_malformed' | 'timestamp_outside_window' | 'signature_mismatch'

/** What a scheme finds: which secret signed, and the id that it signs where it signs one. */
export type Finding = { readonly secretId: string; readonly signedId?: string } | { readonly refused: Refusal }

/** Checks a delivery at `now` (milliseconds). Pure; no input makes it throw. */
export type CheckSignature = (delivery: Delivery, now: number) => Finding

/** A way to sign, made ready for one provider's settings: one file a scheme, one line in the table. */
export interface Scheme {
  /** Turns the text of a secret into key bytes, or says why it cannot (never quoting it). */
  readonly readKey: (text: string, settings: ProviderSettings) => Buffer | { readonly problem: string }
  /** The headers that the check reads, in lower case: they are kept, so that it can be repeated. */
  readonly signedHeaders: (settings: ProviderSettings) => readonly string[]
  /** Whether the signature covers a time that is checked. */
  readonly signsTime: (settings: ProviderSettings) => boolean
  readonly prepare: (settings: ProviderSettings, secrets: readonly LiveSecret[]) => CheckSignature
  /**
   * Reads the event out of an authentic delivery.
   * @throws invalidBody or eventInvalid
   */
  readonly prepareReader: (settings: ProviderSettings) => (delivery: VerifiedDelivery) => WebhookEvent
}
