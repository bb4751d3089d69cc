/** What is known about a secret. Times are ISO 8601. */
export interface KnownSecret {
  readonly id: string
  readonly notAfter: string | null
  readonly lastMatchedAt: string | null
}

/** What to do with a secret. */
export type SecretAdvice = 'inUse' | 'neverMatched' | 'stillMatches' | 'removable' | 'expiresSoon' | 'expired'

const DAY_MS = 86_400_000
/** If a secret has matched nothing for this long while another one has, it is no longer in use. */
const SILENT_DAYS = 3
const SOON_DAYS = 7

/** Decides what to do with one of a provider's secrets. `now`: milliseconds since 1970. */
export function adviseOnSecret(secret: KnownSecret, all: readonly KnownSecret[], now: number): SecretAdvice {
  const ends = secret.notAfter === null ? Number.POSITIVE_INFINITY : Date.parse(secret.notAfter)
  if (ends <= now) return 'expired'
  const newest = Math.max(...all.map(lastMatch))
  const last = lastMatch(secret)
  if (last === Number.NEGATIVE_INFINITY) return 'neverMatched'
  const isSilent = now - last > SILENT_DAYS * DAY_MS
  if (isSilent && newest > last) return 'removable'
  if (ends - now <= SOON_DAYS * DAY_MS) return 'expiresSoon'
  return newest > last ? 'stillMatches' : 'inUse'
}

function lastMatch({ lastMatchedAt }: KnownSecret): number {
  return lastMatchedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(lastMatchedAt)
}
