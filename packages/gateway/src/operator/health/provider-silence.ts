import type { ProviderCounter } from '../../inbox/statistics/provider-stats.ts'

/** How long a provider usually pauses between deliveries, and whether the current pause is longer. */
export interface ProviderSilence {
  /** The time of its last authentic delivery. Null if there was none yet. */
  readonly lastDeliveryAt: Date | null
  /** The longest usual pause in milliseconds. Null until it has been observed for a week. */
  readonly usualGapMs: number | null
  /** The time of the last delivery, if it is unusually long ago. */
  readonly silentSince: Date | null
}

// For these outcomes, a record exists or existed.
const STORED = ['recorded', 'duplicate', 'unhandled']
const WEEK_MS = 7 * 86_400_000
const LEAST_MS = 900_000

/**
 * Decides from the statistics of a provider at `now`, in milliseconds. A provider is silent if its last delivery is
 * more than twice its usual pause ago, and at least 15 minutes ago.
 */
export function silenceOf(stats: readonly ProviderCounter[], now: number): ProviderSilence {
  const deliveries = stats.filter(({ _id }) => _id.kind === 'delivery' && STORED.includes(_id.name))
  const last = Math.max(...deliveries.map(({ lastAt }) => lastAt.getTime()))
  if (deliveries.length === 0) return { lastDeliveryAt: null, usualGapMs: null, silentSince: null }
  // Any of its counters bounds the pauses of the provider as a whole.
  const observed = deliveries.filter(({ gapsSince }) => now - gapsSince.getTime() >= WEEK_MS)
  const lastDeliveryAt = new Date(last)
  if (observed.length === 0) return { lastDeliveryAt, usualGapMs: null, silentSince: null }
  const usualGapMs = Math.min(...observed.map(({ longestGapMs }) => longestGapMs))
  const isSilent = now - last > Math.max(2 * usualGapMs, LEAST_MS)
  return { lastDeliveryAt, usualGapMs, silentSince: isSilent ? lastDeliveryAt : null }
}
