import type { Delivery } from './delivery.ts'
import type { ProviderSettings, Scheme } from './schemes/scheme.ts'
import type { LiveSecret } from './signatures/signature.ts'

/** The kinds of causes of a refusal. */
export type CauseName =
  | 'body_changed'
  | 'clock'
  | 'header_changed'
  | 'header_missing'
  | 'header_repeated'
  | 'secret_encoding'
  | 'secret_ended'
  | 'secret_blank'
  | 'secret_unreadable'
  | 'test_mode'
  | 'unknown'
  | 'url'
  | 'wrong_provider'
  | 'wrong_scheme'

/** A cause of a refusal. The texts never contain a secret, a signature, or a part of either. */
export interface Cause {
  readonly cause: CauseName
  /** True if the delivery is accepted after this correction alone; false if the cause is only possible. */
  readonly proved: boolean
  /** One sentence, without a full stop. */
  readonly message: string
  /** The fix: one sentence, without a full stop. */
  readonly fix: string
}

/** A cause before it is proved or not. */
export type PossibleCause = Omit<Cause, 'proved'>

/** A delivery that is not authentic. `rawBody` is undefined if the body was not read. */
type RefusedFacts = Pick<Delivery, 'rawHeaders' | 'query'> & { readonly rawBody: Buffer | undefined }

/**
 * The causes of a refusal at `now` (milliseconds), the most likely first: a subset of what the command `explain` finds. No
 * text contains a secret, a signature, or a part of the body.
 */
export type ExplainRefusal = (refused: RefusedFacts, now: number) => readonly Cause[]

export type PrepareExplanation = (
  scheme: Scheme,
  settings: ProviderSettings,
  secrets: readonly LiveSecret[],
) => ExplainRefusal
