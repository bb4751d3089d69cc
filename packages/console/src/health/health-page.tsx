import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Answers } from '../api/operator-client.ts'
import { OverviewStrip, useOverview } from '../events/overview-strip.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { Facts } from '../parts/facts.tsx'
import { Instant } from '../parts/instant.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { ProblemNotice } from '../parts/problem-notice.tsx'
import { Section } from '../parts/section.tsx'
import { adviseOnSecret } from '../providers/advise-on-secret.ts'
import { useProviders } from '../providers/use-providers.ts'
import { texts } from '../texts.ts'
import { readAnswerTimes } from './read-answer-times.ts'

const REFRESH_MS = 5_000
const MOST = 0.99

/** Health at a glance: what waits, how quickly deliveries are answered, who is silent, which secrets end. */
export function HealthPage() {
  const { data: providers, error } = useProviders()
  return (
    <PageFrame title={texts.pages.health}>
      <OverviewStrip />
      <Section title={texts.health.answers}>
        <Answered />
      </Section>
      <Section title={texts.health.deadByReason}>
        <DeadByReason />
      </Section>
      <Section title={texts.pages.providers}>
        {error !== null && <ProblemNotice error={error} />}
        {providers !== undefined && <Silence providers={providers} />}
      </Section>
    </PageFrame>
  )
}

function Answered() {
  const { data, error } = useQuery({
    queryKey: ['metrics'],
    queryFn: async () => {
      const response = await fetch('/metrics')
      if (!response.ok) throw new Error(texts.problem.unexpected)
      return readAnswerTimes(await response.text(), MOST)
    },
    refetchInterval: REFRESH_MS,
  })
  if (error !== null) return <ProblemNotice error={error} />
  if (data === undefined) return <p role="status">{texts.frame.loading}</p>
  const { count, withinSeconds } = data
  if (count === 0) return <p>{texts.health.noAnswers}</p>
  return <p>{texts.health.within(count, withinSeconds === null ? null : Math.round(withinSeconds * 1_000))}</p>
}

function DeadByReason() {
  const { data } = useOverview()
  if (data === undefined) return null
  const reasons = Object.entries(data.deadByReason ?? {})
  if (reasons.length === 0) return <p>{texts.health.noneDead}</p>
  return (
    <Facts
      items={reasons.map(([reason, count]) => [
        reason,
        <Link key={reason} to="/events" search={{ state: 'dead', reason }}>
          {count.toLocaleString('en')}
        </Link>,
      ])}
    />
  )
}

type Provider = Answers['providers']['list'][number]

function lastMatchOf({ secrets }: Provider): string | null {
  return (
    secrets
      .map(({ lastMatchedAt }) => lastMatchedAt ?? '')
      .toSorted()
      .at(-1) || null
  )
}

function endingSecrets({ secrets }: Provider): string {
  const ending = secrets.filter((one) => ['expiresSoon', 'expired'].includes(adviseOnSecret(one, secrets, Date.now())))
  return ending.length === 0 ? texts.health.noneEnds : ending.map(({ id }) => id).join(', ')
}

function Silence({ providers }: { readonly providers: readonly Provider[] }) {
  const { lastDelivery, oldest, ending } = texts.health
  return (
    <PlainTable
      caption={texts.pages.providers}
      heads={[texts.events.provider, lastDelivery, oldest, ending]}
      rows={providers.map((provider) => ({
        key: provider.name,
        cells: [
          provider.name,
          <Instant key="last" at={lastMatchOf(provider)} />,
          provider.oldestUnsettledSeconds === null
            ? texts.overview.nothingWaits
            : texts.time.seconds(provider.oldestUnsettledSeconds),
          endingSecrets(provider),
        ],
      }))}
    />
  )
}
