// Sweden writes times as ISO 8601 does, which no reader takes for another day, and which logs have too.
const LOCAL = new Intl.DateTimeFormat('sv-SE', {
  ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
})

/** A number as English writes it: `2,000`, `0.125`. At most this many digits follow the point. */
export const number = (value: number, maximumFractionDigits = 3): string =>
  value.toLocaleString('en', { maximumFractionDigits })

/** A time in the zone of the viewer: `2026-11-02 19:00:00`. */
export const localTime = (at: Date): string => LOCAL.format(at)

/** The same with milliseconds. */
export const exactTime = (at: Date): string => `${localTime(at)}.${String(at.getMilliseconds()).padStart(3, '0')}`

/** The same without year and seconds: `11-02 19:00`. */
export const shortTime = (at: Date): string => localTime(at).slice(5, 16)

/** A time in UTC, from ISO 8601: `2026-11-02 10:00:00 UTC`. */
export const utcTime = (iso: string): string => `${iso.slice(0, 19).replace('T', ' ')} UTC`

/** A number with its noun: `1 event`, `2,000 events`. */
export const plural = (count: number, one: string, many: string): string =>
  `${number(count)} ${count === 1 ? one : many}`

/** A length of time in one unit: `4 min`. */
export const duration = (seconds: number): string => {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}
