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
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[sorted.length / 2 - 1] ?? Number.NaN) + upper) / 2
}

/**
 * The spread of a ratio that is computed within each round. A disturbance of a whole round slows down both sides. A
 * ratio of two medians would mix unrelated rounds.
 */
export function ratioOf(ours: readonly number[], theirs: readonly number[]): Spread {
  if (ours.length !== theirs.length) throw new RangeError('A ratio needs both figures of every round')
  return spreadOf(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)))
}
