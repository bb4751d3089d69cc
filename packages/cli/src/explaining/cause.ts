import type { Attempt } from './attempt.ts'

/** The kinds of reasons for which a delivery is refused. */
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

/** One reason, told to a person. No text ever holds a secret, a signature, or a part of either. */
export interface Cause {
  readonly cause: CauseName
  /** Whether the delivery was accepted once just this was put right; else it only looks like it. */
  readonly proved: boolean
  /** One sentence, without its full stop. */
  readonly says: string
  /** What to do, one sentence without its full stop. */
  readonly fix: string
}

/** Something that may have gone wrong, and what the delivery would be without. */
export interface Variation extends Omit<Cause, 'proved'> {
  /** Two variations of one axis exclude each other. */
  readonly axis: 'body' | 'clock' | 'header' | 'scheme' | 'secret' | 'url'
  readonly apply: (attempt: Attempt) => Attempt
}
