import type { Attempt } from './attempt.ts'

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
  | 'settings'
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

/** A possible cause, and the correction of the attempt. */
export interface Variation extends Omit<Cause, 'proved'> {
  /** Variations of the same axis are never combined. */
  readonly axis: 'body' | 'clock' | 'header' | 'scheme' | 'secret' | 'url'
  readonly apply: (attempt: Attempt) => Attempt
}
