import { build, type Histogram } from 'hdr-histogram-js'
import type { LatencySummary, LoadReport } from './load-report.ts'

const LONGEST_US = 120_000_000

/** Collects the results of the deliveries of one load. */
export class Tally {
  readonly #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: LONGEST_US,
    numberOfSignificantValueDigits: 3,
  })
  readonly #acknowledged: string[] = []
  readonly #failed: Record<string, number> = {}

  /** Records an answer that came `ms` after its delivery was sent or due. */
  answered({ eventId, status, ms }: { eventId: string; status: number; ms: number }): void {
    this.#histogram.recordValue(Math.min(LONGEST_US, Math.max(1, Math.round(ms * 1_000))))
    if (status === 200) this.#acknowledged.push(eventId)
    else this.failed(String(status), 1)
  }

  /** Records deliveries without an answer. */
  failed(how: string, count: number): void {
    if (count > 0) this.#failed[how] = (this.#failed[how] ?? 0) + count
  }

  /** The report of a load that began and ended at these instants (milliseconds since 1970). */
  report(beganAt: number, endedAt: number): LoadReport {
    const latency = summarize(this.#histogram)
    return { beganAt, endedAt, acknowledged: this.#acknowledged, failed: this.#failed, latency }
  }
}

function summarize(histogram: Histogram): LatencySummary {
  const at = (percentile: number): number => histogram.getValueAtPercentile(percentile) / 1_000
  return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: histogram.maxValue / 1_000 }
}
