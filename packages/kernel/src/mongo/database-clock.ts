// One clock counts: that of the database. Leases and due times are expressions on it, so that all processes agree on who holds a
// document; a time further ahead than any that is ever set comes from a wrong clock and counts as passed. A gauge shows how far ours is off.
import type { Db, Document } from 'mongodb'
import type { Registry } from 'prom-client'
import { addPolledGauges } from '../log/polled-gauges.ts'
import type { Clock } from '../time/clock.ts'

/**
 * Tolerated difference between the clocks of two primaries, in milliseconds. A due time or lease that exceeds the
 * longest possible one by more than this was set by a wrong clock and counts as passed.
 */
export const CLOCK_STEP_MS = 60_000

/** The time that is `ms` milliseconds from now: the end of a lease, or a due time. */
export function fromNow(ms: number): Document {
  return { $add: ['$$NOW', ms] }
}

/** The latest time that a correct clock sets up to `ms` milliseconds ahead. A later one comes from a clock that was ahead. */
export function latestFromNow(ms: number): Document {
  return fromNow(ms + CLOCK_STEP_MS)
}

/**
 * Whether the lease in `leaseUntil` has ended. `leaseMs` is the longest lease that is granted. A lease that ends later
 * comes from a clock that was ahead, so it counts as ended.
 */
export function leaseHasEnded(leaseMs: number): Document {
  return { $or: [{ $lte: ['$leaseUntil', '$$NOW'] }, { $gt: ['$leaseUntil', latestFromNow(leaseMs)] }] }
}

export interface ClockSkewOptions {
  readonly db: Db
  readonly clock: Clock
}

// The measurement error is half of the round trip.
const MOST_ROUND_TRIP_MS = 2_000

/**
 * Adds a gauge of how many seconds the process clock is ahead of the database clock. Queries the database at each scrape. The
 * gauge is omitted if the database does not reply within 2 s.
 */
export function addClockSkewGauge(registry: Registry, { db, clock }: ClockSkewOptions): void {
  const measure = async (): Promise<number | null> => {
    const [askedAt, time] = [performance.now(), clock.now()]
    const { localTime } = await db.command({ hello: 1 })
    const roundTripMs = performance.now() - askedAt
    if (roundTripMs > MOST_ROUND_TRIP_MS) return null
    return Math.round(time + roundTripMs / 2 - (localTime as Date).getTime()) / 1_000
  }
  const help = 'Seconds by which the clock of this process is ahead of the clock of the database, at most 1 s wrong'
  addPolledGauges(registry, measure, [{ name: 'oncehook_clock_skew_seconds', help, read: (seconds) => seconds }])
}
