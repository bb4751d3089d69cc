import type { Db } from 'mongodb'
import type { Registry } from 'prom-client'
import type { Clock } from '../clock.ts'
import { addPolledGauges } from '../polled-gauges.ts'

/** Dependencies of the clock comparison. */
export interface ClockSkewOptions {
  readonly db: Db
  readonly clock: Clock
  /** Monotonic milliseconds. Default: those of the process. */
  readonly now?: () => number
}

const EVERY_MS = 60_000
// The measurement error is half of the round trip.
const MOST_ROUND_TRIP_MS = 2_000

/**
 * Adds a gauge of how many seconds the process clock is ahead of the database clock. Queries the database at a
 * scrape, at most once per minute. The gauge is omitted if the database does not reply within 2 s.
 */
export function addClockSkewGauge(registry: Registry, options: ClockSkewOptions): void {
  const { now = () => performance.now() } = options
  let measuredAt = Number.NEGATIVE_INFINITY
  let skew: number | null = null
  const measure = async (): Promise<number | null> => {
    if (now() - measuredAt < EVERY_MS) return skew
    skew = await readSkew(options, now)
    if (skew !== null) measuredAt = now()
    return skew
  }
  const help =
    'Seconds by which the clock of this process is ahead of the clock of the database; measured at most once a minute'
  addPolledGauges(registry, measure, [{ name: 'oncehook_clock_skew_seconds', help, read: (seconds) => seconds }])
}

async function readSkew({ db, clock }: ClockSkewOptions, now: () => number): Promise<number | null> {
  const [askedAt, time] = [now(), clock.now()]
  const { localTime } = await db.command({ hello: 1 })
  const roundTripMs = now() - askedAt
  if (roundTripMs > MOST_ROUND_TRIP_MS) return null
  return Math.round(time + roundTripMs / 2 - (localTime as Date).getTime()) / 1_000
}
