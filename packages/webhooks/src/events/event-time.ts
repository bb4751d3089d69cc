import type { PaymentFacts } from '../event.ts'
import { ISO_INSTANT } from '../signatures/time-forms.ts'

// In seconds, the year 5138; in milliseconds, 1973.
const LEAST_MILLISECONDS = 100_000_000_000

/** The time of an event, from ISO 8601, seconds or milliseconds. Anything else is ignored. */
export function occurredAtOf(at: unknown): Pick<PaymentFacts, 'occurredAt'> {
  const instant =
    typeof at === 'number'
      ? new Date(at < LEAST_MILLISECONDS ? at * 1000 : at)
      : new Date(typeof at === 'string' && ISO_INSTANT.test(at) ? at : Number.NaN)
  const years = instant.getUTCFullYear()
  // A year of more than four digits means another unit, and no later reader accepts it.
  return years >= 0 && years <= 9_999 ? { occurredAt: instant.toISOString() } : {}
}
