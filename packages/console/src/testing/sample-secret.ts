import type { KnownSecret } from '../providers/secrets-table.tsx'

/** The time at which the secrets of the tests are looked at, in milliseconds. */
export const NOW = Date.parse('2026-11-20T12:00:00Z')

/** The time this many days before `NOW`. */
export const daysAgo = (days: number): string => new Date(NOW - days * 86_400_000).toISOString()

/** A secret that matched last this many days ago, or never. */
export const sampleSecret = (id: string, last: number | null, notAfter: string | null = null): KnownSecret => ({
  ...{ id, notAfter, lastMatchedAt: last === null ? null : daysAgo(last) },
})
