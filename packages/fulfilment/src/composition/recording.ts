import type { applyEvents } from '../payments/apply-events.ts'

/**
 * Records the steps of the protocol, so that a test can compare them with the model in `docs/model`. It returns the same
 * part, which also records its steps. In production there is no recording, and no part is replaced.
 */
export interface Recording {
  /** The calls that apply payments: their reads, their writes and their answers. */
  calls(apply: typeof applyEvents): typeof applyEvents
}
