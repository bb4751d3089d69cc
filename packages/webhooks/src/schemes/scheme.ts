import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Delivery, VerifiedDelivery } from '../delivery.ts'
import type { WebhookEvent } from '../event.ts'
import type { SchemePermits } from '../events/permits.ts'
import type { Refusal } from '../refusal.ts'
import { type CommonSettings, commonShape, noSecrets } from '../settings/common-settings.ts'
import type { SettingsSchema } from '../settings/settings-schema.ts'
import type { LiveSecret } from '../signatures/signature.ts'
import type { SignedTransmission } from '../signed-transmission.ts'
import type { Redelivery } from './redelivery.ts'

/**
 * The result of a check: the secret that signed, and the signed id if there is one; or the reason for a refusal. If items are signed
 * one by one, the places of those whose signatures do not hold, while those of others do.
 */
export type CheckResult =
  | {
      readonly secretId: string
      readonly signedId?: string
      readonly transmission?: SignedTransmission
      readonly refusedItems?: readonly number[]
    }
  | { readonly refused: Refusal }

/** Replaces the id of a secret if the provider signs nothing and has no secret. */
export const UNSIGNED = 'unsigned'

/**
 * Checks a delivery at `now` (milliseconds). No delivery makes it throw. It returns a promise only if something has to be
 * fetched, with `fetch`; the promise rejects only with `unavailable`.
 */
export type CheckSignature = (
  delivery: Delivery,
  now: number,
  fetch: typeof globalThis.fetch,
) => CheckResult | Promise<CheckResult>

/** A secret as a scheme reads it: the bytes of a key, a key of another kind, or a problem that does not quote the secret. */
export type ReadKey = Buffer | { readonly key: KeyObject; readonly kind?: string } | { readonly problem: string }

/**
 * Reads the events of an authentic delivery in their order. There may be none.
 * @throws invalidBody, eventInvalid
 */
export type ReadEvents = (delivery: VerifiedDelivery) => readonly WebhookEvent[]

/** The body of the answer to a provider's handshake, or null for an ordinary delivery. */
export type AnswerHandshake = (delivery: VerifiedDelivery) => HandshakeAnswer | null

/** An answer to a handshake: JSON, or nothing with 204. */
export type HandshakeAnswer = { readonly json: unknown } | { readonly empty: true }

/** Answers a GET by which a provider checks an endpoint, from its query at `now` (milliseconds), with text or JSON; null refuses it. */
export type AnswerCheck = (query: string, now: number) => unknown

/**
 * Asks the provider about an event whose signature proves too little. Only the returned event counts.
 * @throws unavailable if the provider cannot be asked now, overloaded if it is asked too much
 */
export type ConfirmEvent = (event: WebhookEvent, fetch: typeof globalThis.fetch) => Promise<Confirmed>

/** The answer of the provider: the event with its facts, or a refusal because the object does not exist. */
export type Confirmed = { readonly event: WebhookEvent } | { readonly refused: string }

/** The parts of a scheme, with its settings. Every function is pure and is prepared once for each provider. */
export interface SchemeParts<Settings> {
  /** The problems of the settings that their schema cannot find, one clause each. */
  readonly problemsOf?: (settings: Settings) => readonly string[]
  /** The provider signs nothing and has no secret: its settings have none, and `prepareConfirm` proves its events. */
  readonly signsNothing?: true
  readonly readKey: (text: string, settings: Settings) => ReadKey
  /** What its settings call a secret names somebody: anybody may know it. Public keys need no such mark. */
  readonly secretIsPublic?: true
  /** The headers that the check and the reader use, in lower case. They are stored, so that both can be repeated. */
  readonly signedHeaders: (settings: Settings) => readonly string[]
  /** The headers of its signature that belong together, in lower case: one family must be complete. Default: all signed headers. */
  readonly headerFamilies?: readonly (readonly string[])[]
  /** More headers that the signature of this delivery covers, in lower case. They are stored too. */
  readonly coveredHeaders?: (delivery: Delivery) => readonly string[]
  /** The header that contains the secret itself, in lower case. A signature made with it is stored instead. */
  readonly staticTokenHeader?: string
  /** The check or the reader uses the query, so it is stored. Other queries are not: people put secrets there. */
  readonly usesQuery?: (settings: Settings) => boolean
  /** The signature is in the body, so no header shows whether there is one. */
  readonly signsInBody?: true
  /** How long the provider redelivers an event. */
  readonly redelivery: Redelivery
  /** What its events may do unless the settings say otherwise. */
  readonly permits: SchemePermits<Settings>
  /** Whether a check fetches keys with these settings, so that it cannot be tried many times. Default: it fetches nothing. */
  readonly fetchesKeys?: (settings: Settings) => boolean
  /** Whether the signature covers a time that is checked. */
  readonly signsTime: (settings: Settings) => boolean
  readonly prepare: (settings: Settings, secrets: readonly LiveSecret[]) => CheckSignature
  readonly prepareReader: (settings: Settings) => ReadEvents
  /**
   * Whether an authentic delivery that cannot be read is refused, because the sender was told which shape to send. Default: it is
   * an event without an effect, because no provider changes what it sends for us.
   */
  readonly refusesUnreadable?: (settings: Settings) => boolean
  /** Whether forms are accepted in addition to JSON. */
  readonly takesForms?: boolean
  readonly prepareHandshake?: (settings: Settings, secrets: readonly LiveSecret[]) => AnswerHandshake
  readonly prepareCheck?: (settings: Settings, secrets: readonly LiveSecret[]) => AnswerCheck
  /** Undefined if these settings leave nothing to confirm. */
  readonly prepareConfirm?: (settings: Settings) => ConfirmEvent | undefined
}

/** A way to sign: one file, one line in the table. */
export interface Scheme extends SchemeParts<ProviderSettings> {
  readonly name: string
  readonly refusesUnreadable: (settings: ProviderSettings) => boolean
  readonly schema: SettingsSchema<ProviderSettings>
}

/** The checked settings of one provider. Only the scheme sees its own properties. */
export type ProviderSettings = CommonSettings & { readonly scheme: string }

/**
 * Defines a scheme: its name, the properties of its settings beyond the shared ones, and its parts.
 * @internal
 */
export function defineScheme<Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
  parts: SchemeParts<z.output<z.ZodObject<Shape>> & CommonSettings>,
): Scheme {
  const secrets = parts.signsNothing === true ? noSecrets : commonShape.secrets
  const schema = z.strictObject({ scheme: z.literal(name), ...commonShape, secrets, ...shape })
  // Each scheme gets only settings that its own schema has read.
  const given = parts as unknown as SchemeParts<ProviderSettings>
  return { refusesUnreadable: () => false, ...given, name, schema: schema as unknown as Scheme['schema'] }
}
