import { Link } from '@tanstack/react-router'
import type { Answers } from '../api/operator-client.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { EmptyNotice } from '../parts/empty-notice.tsx'
import { Instant } from '../parts/instant.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts.ts'
import { adviseOnSecret, type SecretAdvice } from './advise-on-secret.ts'
import { ProviderPause } from './provider-pause.tsx'
import { useProviders } from './use-providers.ts'

type Provider = Answers['providers']['list'][number]

/** Each provider: its address, what arrived, its secrets, and how far a rotation has come. */
export function ProvidersPage() {
  const { data, error } = useProviders()
  return (
    <PageFrame title={texts.pages.providers}>
      {error !== null && <ProblemNotice error={error} />}
      {data?.length === 0 && <EmptyNotice title={texts.providers.emptyTitle} hint={texts.providers.emptyHint} />}
      {data?.map((provider) => (
        <ProviderPart key={provider.name} provider={provider} />
      ))}
      {data !== undefined && data.length > 0 && <RotationSteps />}
    </PageFrame>
  )
}

function ProviderPart({ provider }: { readonly provider: Provider }) {
  const { name, scheme, path, deliveries, oldestUnsettledSeconds } = provider
  const counts = Object.entries(deliveries).map(([kind, count]) => `${kind} ${count.toLocaleString('en')}`)
  return (
    <Section title={name}>
      <p className="my-1 flex flex-wrap gap-x-6">
        <span>
          {texts.providers.scheme} {scheme}
        </span>
        <code className="font-mono">{path}</code>
        <span>{counts.length === 0 ? texts.providers.noDeliveries : counts.join(' · ')}</span>
        {oldestUnsettledSeconds !== null && oldestUnsettledSeconds > 0 && (
          <span>
            {texts.overview.oldest} {texts.time.seconds(oldestUnsettledSeconds)}
          </span>
        )}
        <Link to="/events" search={{ provider: name }}>
          {texts.pages.events}
        </Link>
        <Link to="/refused" search={{ provider: name }}>
          {texts.pages.refused}
        </Link>
      </p>
      <ProviderPause provider={name} paused={provider.paused} />
      <Secrets provider={provider} />
    </Section>
  )
}

const LOOKS: Readonly<Record<SecretAdvice, string>> = {
  inUse: 'text-good',
  neverMatched: 'text-quiet',
  stillMatches: 'text-wait',
  removable: 'text-link',
  expiresSoon: 'text-bad',
  expired: 'text-bad',
}

function Secrets({ provider: { name, secrets } }: { readonly provider: Provider }) {
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
            <code key="id" className="font-mono">
              {one.id}
            </code>,
            one.matches.toLocaleString('en'),
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

function RotationSteps() {
  return (
    <Section title={texts.providers.rotation}>
      <ol className="list-decimal pl-6">
        {texts.providers.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </Section>
  )
}
