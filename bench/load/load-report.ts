/** How deliveries are sent: as fast as the answers allow, or at instants fixed beforehand. */
export type LoadPlan = ClosedLoad | OpenLoad

/** Each connection sends its next delivery when it has the answer to the last one. */
export interface ClosedLoad {
  readonly kind: 'closed'
  readonly connections: number
  /** The load ends after this time, or when every delivery is sent. */
  readonly forMs: number
}

/** Delivery number n is due n intervals after the start, even if earlier ones are late or fail. */
export interface OpenLoad {
  readonly kind: 'open'
  readonly connections: number
  readonly perSecond: number
  /** How long to wait for answers after the last delivery was due. */
  readonly graceMs: number
}

/** The result of a load. */
export interface LoadReport {
  /** Milliseconds since 1970 with fractions: the instants of the first delivery and of the last answer. */
  readonly beganAt: number
  readonly endedAt: number
  /** Ids of the events that were answered 200, one entry per answer. */
  readonly acknowledged: readonly string[]
  /** The number of other deliveries, by status, or by `broken` (no answer), `unanswered` and `unsent` (at the end). */
  readonly failed: Readonly<Record<string, number>>
  readonly latency: LatencySummary
}

/** Milliseconds from the instant a delivery was sent (closed) or due (open) to its answer, 200 or not. */
export interface LatencySummary {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}
