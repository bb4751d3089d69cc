import { PlainTable } from '../parts/plain-table.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import type { Provider } from './use-providers.tsx'

const ADVICE = {
  inUse: ['in use', 'text-good'],
  neverMatched: ['has not matched yet', 'text-quiet'],
  stillMatches: ['keep it until 3 days after its last match', 'text-wait'],
  removable: ['no match for 3 days: can be removed', 'text-link'],
  expiresSoon: ['in use, expires within 7 days', 'text-bad'],
  expired: ['expired', 'text-bad'],
} as const

/** A provider's secrets by id: how often each has matched, when it expires, and what to do with it. */
export function SecretsTable({ provider: { name, secrets } }: { readonly provider: Provider }) {
  return (
    <PlainTable
      caption={`Secrets of ${name}`}
      heads={['Secret', 'Matches', 'Last match', 'Expires', 'State']}
      rows={secrets.map((secret) => {
        const [advice, colour] = ADVICE[adviseOnSecret(secret, secrets, Date.now())]
        return {
          key: secret.id,
          cells: [
            <SecretId key="id" id={secret.id} />,
            texts.number(secret.matches),
            <Instant key="last" at={secret.lastMatchedAt} />,
            <Instant key="ends" at={secret.notAfter} />,
            <span key="advice" className={colour}>
              {advice}
            </span>,
          ],
        }
      })}
    />
  )
}

export function SecretId({ id }: { readonly id: string }) {
  return <code className="inline-block min-w-[8ch]">{id}</code>
}

export type KnownSecret = Pick<Provider['secrets'][number], 'id' | 'notAfter' | 'lastMatchedAt'>

const DAY_MS = 86_400_000
/** If a secret has matched nothing for this long while another one has, it is no longer in use. */
const SILENT_DAYS = 3
const SOON_DAYS = 7

/** Decides what to do with one of a provider's secrets. `now`: milliseconds since 1970. */
export function adviseOnSecret(secret: KnownSecret, all: readonly KnownSecret[], now: number): keyof typeof ADVICE {
  const end = endOf(secret.notAfter, now)
  if (end === 'expired') return end
  const newest = Math.max(...all.map(lastMatch))
  const last = lastMatch(secret)
  if (last === Number.NEGATIVE_INFINITY) return 'neverMatched'
  const isSilent = now - last > SILENT_DAYS * DAY_MS
  if (isSilent && newest > last) return 'removable'
  if (end !== null) return end
  return newest > last ? 'stillMatches' : 'inUse'
}

/** Whether a secret has expired, or soon will. `notAfter`: ISO 8601, or null without an end. */
export function endOf(notAfter: string | null, now: number): 'expired' | 'expiresSoon' | null {
  const leftMs = notAfter === null ? Number.POSITIVE_INFINITY : Date.parse(notAfter) - now
  if (leftMs <= 0) return 'expired'
  return leftMs <= SOON_DAYS * DAY_MS ? 'expiresSoon' : null
}

function lastMatch({ lastMatchedAt }: KnownSecret): number {
  return lastMatchedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(lastMatchedAt)
}
