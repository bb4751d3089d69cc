import { adviseOnSecret, type KnownSecret } from './advise-on-secret.ts'

/** The state of the rotation of a provider's secrets, and the next step. */
export type RotationPlan =
  /** The settings need another secret, with an id like this. */
  | { readonly step: 'add'; readonly newId: string }
  /** There are three secrets already: an expired one must be removed first. */
  | { readonly step: 'clear'; readonly ended: string }
  /** The provider does not sign with the newest secret yet. */
  | { readonly step: 'switch'; readonly newest: string }
  /** An older secret has matched a short time ago. */
  | { readonly step: 'watch'; readonly newest: string; readonly older: readonly string[] }
  /** Only the newest secret matches. */
  | { readonly step: 'remove'; readonly newest: string; readonly silent: readonly string[] }

const MOST_SECRETS = 3

/** Plans a rotation from the secrets in the order of the settings, the newest first. `now`: milliseconds since 1970. */
export function planRotation(secrets: readonly KnownSecret[], now: number): RotationPlan {
  const ended = secrets.filter((secret) => adviseOnSecret(secret, secrets, now) === 'expired')
  const [newest, ...older] = secrets.filter((secret) => !ended.includes(secret))
  if (newest === undefined || older.length === 0) {
    const [full] = secrets.length < MOST_SECRETS ? [] : ended
    return full === undefined ? { step: 'add', newId: unusedId(secrets, now) } : { step: 'clear', ended: full.id }
  }
  if (newest.lastMatchedAt === null) return { step: 'switch', newest: newest.id }
  const silent = older.filter((secret) => isSilent(secret, secrets, now)).map(({ id }) => id)
  if (silent.length > 0) return { step: 'remove', newest: newest.id, silent }
  return { step: 'watch', newest: newest.id, older: older.map(({ id }) => id) }
}

/** Whether a secret no longer matches. If it never matched, there is nothing to wait for. */
function isSilent(secret: KnownSecret, all: readonly KnownSecret[], now: number): boolean {
  return ['removable', 'neverMatched'].includes(adviseOnSecret(secret, all, now))
}

/** The day as an id or, if it is in use, with a number. */
function unusedId(secrets: readonly KnownSecret[], now: number): string {
  const day = new Date(now).toISOString().slice(0, 10)
  const used = secrets.map(({ id }) => id)
  return [day, `${day}-2`, `${day}-3`].find((id) => !used.includes(id)) ?? `${day}-4`
}
