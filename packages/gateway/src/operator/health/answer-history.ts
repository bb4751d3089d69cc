import type { Clock } from '@oncehook/kernel/time/clock'
import type { Registry } from 'prom-client'
import { type AnswerCounts, p99MsOf, readAnswerCounts, since } from './answer-counts.ts'

/** The answers of this process to deliveries during a span. */
interface AnswerPoint {
  /** The end of the span, in milliseconds since 1970. */
  readonly at: number
  /** Its length. */
  readonly seconds: number
  /** Deliveries that were answered 200. */
  readonly accepted: number
  /** Deliveries that were answered with an error. */
  readonly refused: number
  /** 99 % of the accepted ones were answered within this time. 10,000 also means longer. Null if there are none. */
  readonly p99Ms: number | null
}

/** The last hour of answers to deliveries. */
export interface AnswerHistory {
  /** The oldest first. */
  readonly points: readonly AnswerPoint[]
  /** Ends a span: adds its point, and forgets points that are too old. */
  sample(): Promise<void>
}

const MOST_POINTS = 360

/**
 * Creates a history in memory. It reads the metrics of this process, so an answer to a delivery costs nothing more. It
 * begins with the first sample.
 */
export function createAnswerHistory(registry: Registry, clock: Clock): AnswerHistory {
  let points: readonly AnswerPoint[] = []
  let last: { readonly at: number; readonly counts: AnswerCounts } | null = null
  return {
    get points() {
      return points
    },
    async sample() {
      const counts = await readAnswerCounts(registry)
      const at = clock.now()
      const before = last
      last = { at, counts }
      // A clock that was set back gives no span.
      if (before === null || at <= before.at) return
      const { refused, within } = since(before.counts, counts)
      const accepted = within.at(-1)?.count ?? 0
      const seconds = (at - before.at) / 1_000
      points = [...points, { at, seconds, accepted, refused, p99Ms: p99MsOf(within) }].slice(-MOST_POINTS)
    },
  }
}
