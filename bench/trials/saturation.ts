import type { CurvePoint } from '../trial.ts'

/** A rate counts as sustained if 99 of 100 deliveries are answered in less than this and none fails. */
const BEARABLE_P99_MS = 100

/** Whether the receiver sustained the rate of this point. */
export function isBorne({ p99Ms, failed }: Pick<CurvePoint, 'p99Ms' | 'failed'>): boolean {
  return failed === 0 && p99Ms < BEARABLE_P99_MS
}

/**
 * The p99 of one receiver divided by that of another, at the rate where the other saturates: the first that it does not
 * sustain. The first receiver may have tried other rates: then its next higher one counts. NaN if the other sustained
 * every rate, or if the first one tried none so high.
 */
export function p99AtSaturation(of: readonly CurvePoint[], against: readonly CurvePoint[]): number {
  const saturated = against.find((point) => !isBorne(point))
  if (saturated === undefined) return Number.NaN
  const same = of.find(({ perSecond }) => perSecond >= saturated.perSecond)
  return same === undefined ? Number.NaN : same.p99Ms / saturated.p99Ms
}
