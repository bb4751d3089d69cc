import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Delivery, VerifiedDelivery } from '../delivery.ts'
import type { WebhookEvent } from '../event.ts'
import type { SchemePermits } from '../events/permits.ts'
import type { Asker } from '../provider-api/shared-questions.ts'
import type { Refusal } from '../refusal.ts'
import { noSecrets, type SharedSettings, sharedShape } from '../settings/shared-settings.ts'
import type { LiveSecret } from '../signatures/signature.ts'
import type { SignedTransmission } from '../signed-transmission.ts'
import type { Redelivery } from './redelivery.ts'

/** What a scheme finds: which secret signed, and the id that it signs where it signs one. */
export type Finding =
  | { readonly secretId: string; readonly signedId?: string; readonly transmission?: SignedTransmission }
  | { readonly refused: Refusal }

/** What stands in place of a secret's id where the provider signs nothing and has no secret. */
export const UNSIGNED = 'unsigned'

/**
 * Checks a delivery at `now` (milliseconds). No delivery makes it throw; a promise only where something must be fetched
 * to check it, by `fetch`, and that rejects only with `unavailable`.
 */
export type CheckSignature = (
  delivery: Delivery,
  now: number,
  fetch: typeof globalThis.fetch,
) => Finding | Promise<Finding>

/** What the text of a secret is to a scheme: bytes of a key, a key of another kind, or nothing, which is told without quoting it. */
export type ReadKey = Buffer | { readonly key: KeyObject; readonly kind?: string } | { readonly problem: string }

/**
 * Reads the events of an authentic delivery, in their order; none for a delivery that tells of none.
 * @throws invalidBody, eventInvalid, tooManyEvents
 */
export type ReadEvents = (delivery: VerifiedDelivery) => readonly WebhookEvent[]

/** The body of the answer to a provider's handshake, or null for an ordinary delivery. */
export type AnswerHandshake = (delivery: VerifiedDelivery) => HandshakeAnswer | null

/** An answer to a handshake: JSON, or nothing with 204. */
export type HandshakeAnswer = { readonly json: unknown } | { readonly empty: true }

/** Answers a GET at `now` (milliseconds) by its query, where a provider checks an endpoint that way; null refuses it. */
export type AnswerCheck = (query: string, now: number) => unknown

/**
 * Reads from the provider what an event that is not signed well enough claims. The event that comes back counts.
 * @throws unavailable when the provider cannot be asked now, overloaded when it cannot be asked for strangers
 */
export type ConfirmEvent = (event: WebhookEvent, fetch: typeof globalThis.fetch, asker?: Asker) => Promise<Confirmed>

/** What the provider itself says: the event with its facts, or that there is no such thing. */
export type Confirmed = { readonly event: WebhookEvent } | { readonly refused: string }

/** The parts of a scheme, with its own settings. Everything is a pure function, prepared once for each provider. */
export interface SchemeParts<Settings> {
  /** What the settings lack or contradict beyond what their schema says, each a clause. */
  readonly problemsOf?: (settings: Settings) => readonly string[]
  /** The provider signs nothing and has no secret: its settings name none, and `prepareConfirm` is what vouches. */
  readonly signsNothing?: true
  readonly readKey: (text: string, settings: Settings) => ReadKey
  /** The headers that the check and the reader use, in lower case: they are kept, so that both can be repeated. */
  readonly signedHeaders: (settings: Settings) => readonly string[]
  /** Further headers that the signature of this very delivery covers, in lower case: they are kept as well. */
  readonly coveredHeaders?: (delivery: Delivery) => readonly string[]
  /** The header in which the secret itself comes, in lower case: it is kept as the signature that it makes. */
  readonly clearTokenHeader?: string
  /** The check or the reader uses the query: it is kept. Of other schemes it is not, for people put secrets there. */
  readonly usesQuery?: true
  /** The signature stands in the body: no header tells whether there is one. */
  readonly signsInBody?: true
  /** How long a repeated delivery can still be the provider's own. */
  readonly redelivery: Redelivery
  /** What its events may do where the settings say nothing. */
  readonly permits: SchemePermits<Settings>
  /** Whether the signature covers a time that is checked. */
  readonly signsTime: (settings: Settings) => boolean
  readonly prepare: (settings: Settings, secrets: readonly LiveSecret[]) => CheckSignature
  readonly prepareReader: (settings: Settings) => ReadEvents
  /** Whether forms are taken beside JSON. */
  readonly takesForms?: boolean
  readonly prepareHandshake?: (settings: Settings, secrets: readonly LiveSecret[]) => AnswerHandshake
  readonly prepareCheck?: (settings: Settings, secrets: readonly LiveSecret[]) => AnswerCheck
  /** Undefined where these settings leave nothing to confirm. */
  readonly prepareConfirm?: (settings: Settings) => ConfirmEvent | undefined
}

/** A way to sign: one file, one line in the table. */
export interface Scheme extends SchemeParts<ProviderSettings> {
  readonly name: string
  readonly schema: z.ZodType<ProviderSettings>
}

/** The settings of one provider, checked; what is particular to the scheme only the scheme sees. */
export type ProviderSettings = SharedSettings & { readonly scheme: string }

/** Defines a scheme by the members that its settings have beside the shared ones, and its parts. */
export function defineScheme<Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
  parts: SchemeParts<z.output<z.ZodObject<Shape>> & SharedSettings>,
): Scheme {
  const secrets = parts.signsNothing === true ? noSecrets : sharedShape.secrets
  const schema = z.strictObject({ scheme: z.literal(name), ...sharedShape, secrets, ...shape })
  // The table hands every scheme only settings that its own schema has read.
  return { ...(parts as unknown as SchemeParts<ProviderSettings>), name, schema: schema as unknown as Scheme['schema'] }
}
