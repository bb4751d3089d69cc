const SECONDS = /^\d{10}$/
const MILLISECONDS = /^\d{13}$/
/** ISO 8601. The zone is required: a longer or shorter part of a signed text is never another time. */
export const ISO_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** A time in seconds (ten digits), milliseconds (13 digits) or ISO 8601 with its zone, in milliseconds; null for any other text. */
export function toMilliseconds(text: string): number | null {
  if (SECONDS.test(text)) return Number(text) * 1_000
  if (MILLISECONDS.test(text)) return Number(text)
  const ms = ISO_INSTANT.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? null : ms
}

/** Converts a timestamp of 13 digits (milliseconds) to seconds. Anything else stays as it is. */
export function secondsOf(timestamp: string): string {
  return MILLISECONDS.test(timestamp) ? timestamp.slice(0, 10) : timestamp
}
