/** The spread of a figure that was measured several times. */
export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

/** The spread of at least one value. */
export function spreadOf(values: readonly number[]): Spread {
  return { median: medianOf(values), least: Math.min(...values), most: Math.max(...values) }
}

/** The middle value, or the mean of the two in the middle; NaN if there are no values. */
function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[sorted.length / 2 - 1] ?? Number.NaN) + upper) / 2
}
