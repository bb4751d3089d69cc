import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Answers } from '../api/operator-client.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { QueryProblem } from '../frame/query-problem.tsx'
import { EmptyNotice } from '../parts/empty-notice.tsx'
import { Section } from '../parts/section.tsx'
import { texts } from '../texts/texts.ts'
import { ProviderPause } from './provider-pause.tsx'
import { RotationDialog } from './rotation-dialog.tsx'
import { SecretsTable } from './secrets-table.tsx'
import { SendTest } from './send-test.tsx'
import { useProviders } from './use-providers.ts'

type Provider = Answers['providers']['list'][number]

/** Each provider: its URL, its deliveries, its secrets, and the state of a rotation. */
export function ProvidersPage() {
  const { data, error } = useProviders()
  return (
    <PageFrame title={texts.pages.providers}>
      <QueryProblem error={error} />
      {data?.length === 0 && <EmptyNotice title={texts.providers.emptyTitle} hint={texts.providers.emptyHint} />}
      {data?.map((provider) => (
        <ProviderPart key={provider.name} provider={provider} />
      ))}
    </PageFrame>
  )
}

function ProviderPart({ provider }: { readonly provider: Provider }) {
  const [isRotating, setIsRotating] = useState(false)
  const { name, scheme, path, deliveries, oldestUnsettledSeconds } = provider
  const counts = Object.entries(deliveries).map(([kind, count]) => `${kind} ${texts.number(count)}`)
  return (
    <Section title={name}>
      <p className="my-1 flex flex-wrap gap-x-6">
        <span>
          <span className="text-quiet">{texts.providers.scheme}</span> {scheme}
        </span>
        <code className="font-mono">{path}</code>
        {counts.length === 0 && <span>{texts.providers.noDeliveries}</span>}
        {counts.length > 0 && (
          <span>
            <span className="text-quiet">{texts.providers.deliveries}</span> {counts.join(' · ')}
          </span>
        )}
        {oldestUnsettledSeconds !== null && oldestUnsettledSeconds > 0 && (
          <span>
            <span className="text-quiet">{texts.overview.oldest}</span> {texts.time.seconds(oldestUnsettledSeconds)}
          </span>
        )}
        <Link to="/events" search={{ provider: name }}>
          {texts.pages.events}
        </Link>
        <Link to="/refused" search={{ provider: name }}>
          {texts.pages.refused}
        </Link>
      </p>
      <div className="my-2 flex flex-wrap items-center gap-2">
        <ProviderPause provider={name} paused={provider.paused} />
        <SendTest provider={name} takesTests={provider.takesTests} text={texts.test.send} />
        <button type="button" className="button" onClick={() => setIsRotating(true)}>
          {texts.rotation.open}
        </button>
      </div>
      <SecretsTable provider={provider} />
      {isRotating && <RotationDialog provider={provider} onClose={() => setIsRotating(false)} />}
    </Section>
  )
}
