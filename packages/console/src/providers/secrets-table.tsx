// The secrets of a provider, by id, and what to do with each.

import type { Answers } from '../api/operator-client.ts'
import { PlainTable } from '../parts/plain-table.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'

type Provider = Answers['providers']['list'][number]

const LOOKS: Readonly<Record<SecretAdvice, string>> = {
  inUse: 'text-good',
  neverMatched: 'text-quiet',
  stillMatches: 'text-wait',
  removable: 'text-link',
  expiresSoon: 'text-bad',
  expired: 'text-bad',
}

/** A provider's secrets by id: how often each has matched, when it expires, and what to do with it. */
export function SecretsTable({ provider: { name, secrets } }: { readonly provider: Provider }) {
  const { secret, matches, lastMatch, ends, advice } = texts.providers
  return (
    <PlainTable
      caption={texts.providers.secretsOf(name)}
      heads={[secret, matches, lastMatch, ends, texts.providers.state]}
      rows={secrets.map((one) => {
        const advised = adviseOnSecret(one, secrets, Date.now())
        return {
          key: one.id,
          cells: [
            <code key="id" className="inline-block min-w-[8ch] font-mono">
              {one.id}
            </code>,
            texts.number(one.matches),
            <Instant key="last" at={one.lastMatchedAt} />,
            <Instant key="ends" at={one.notAfter} />,
            <span key="advice" className={LOOKS[advised]}>
              {advised === 'stillMatches' ? advice.stillMatches(agoOf(one, Date.now())) : advice[advised]}
            </span>,
          ],
        }
      })}
    />
  )
}

/** What is known about a secret. Times are ISO 8601. */
export interface KnownSecret {
  readonly id: string
  readonly notAfter: string | null
  readonly lastMatchedAt: string | null
}

type SecretAdvice = 'inUse' | 'neverMatched' | 'stillMatches' | 'removable' | 'expiresSoon' | 'expired'

const DAY_MS = 86_400_000
/** If a secret has matched nothing for this long while another one has, it is no longer in use. */
const SILENT_DAYS = 3
const SOON_DAYS = 7

/** Decides what to do with one of a provider's secrets. `now`: milliseconds since 1970. */
export function adviseOnSecret(secret: KnownSecret, all: readonly KnownSecret[], now: number): SecretAdvice {
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

function agoOf(secret: KnownSecret, now: number): string {
  return texts.time.seconds(Math.max(0, now - lastMatch(secret)) / 1_000)
}

function lastMatch({ lastMatchedAt }: KnownSecret): number {
  return lastMatchedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(lastMatchedAt)
}
