/** A straight line: `base + slope * x`. */
export interface Line {
  readonly base: number
  readonly slope: number
}

/**
 * The straight line with the least squared distance from the points [x, y]. Neither of its parts is negative, because
 * nothing costs less than nothing: then it is the best line through the origin, or the mean.
 */
export function fitLine(points: readonly (readonly [x: number, y: number])[]): Line {
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length
  const [x, y] = [mean((point) => point[0]), mean((point) => point[1])]
  const spread = mean((point) => (point[0] - x) ** 2)
  const slope = spread === 0 ? 0 : mean((point) => (point[0] - x) * (point[1] - y)) / spread
  if (slope <= 0) return { base: y, slope: 0 }
  const base = y - slope * x
  if (base >= 0) return { base, slope }
  return { base: 0, slope: mean((point) => point[0] * point[1]) / mean((point) => point[0] ** 2) }
}

/** The value of a line at x. */
export function at({ base, slope }: Line, x: number): number {
  return base + slope * x
}
