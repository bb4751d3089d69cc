/** When each delivery of an open load is due: at equal intervals, beginning at a given instant. */
export interface Schedule {
  readonly count: number
  /** Milliseconds, on the clock of the start, at which delivery `index` (from 0) is due. */
  dueAt(index: number): number
  /** How many are due at or before an instant. */
  dueBy(instant: number): number
  /** When the last one is due. */
  readonly endsAt: number
}

/**
 * Fixes the instants of `count` deliveries. Each is computed from the start and never from the one before it, so that
 * rounding does not add up and a late delivery delays no other.
 */
export function createSchedule(start: {
  readonly at: number
  readonly count: number
  readonly perSecond: number
}): Schedule {
  const { at, count, perSecond } = start
  if (!(perSecond > 0 && Number.isFinite(perSecond))) throw new RangeError('A rate must be a number above 0')
  const dueAt = (index: number): number => at + (index * 1_000) / perSecond
  const dueBy = (instant: number): number =>
    instant < at ? 0 : Math.min(count, Math.floor(((instant - at) * perSecond) / 1_000) + 1)
  return { count, dueAt, dueBy, endsAt: dueAt(Math.max(0, count - 1)) }
}
