import type { PossibleCause } from '@oncehook/webhooks/providers'
import type { Attempt } from './attempt.ts'

/** A possible cause, and the correction of the attempt. */
export interface Variation extends PossibleCause {
  /** Variations of the same axis are never combined. */
  readonly axis: 'body' | 'clock' | 'header' | 'scheme' | 'secret' | 'url'
  readonly apply: (attempt: Attempt) => Attempt
}
