import type { Answers } from '../api/operator-client.ts'
import { Instant } from '../parts/instant.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { texts } from '../texts/texts.ts'
import { adviseOnSecret, type SecretAdvice } from './advise-on-secret.ts'

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
              {advice[advised]}
            </span>,
          ],
        }
      })}
    />
  )
}
