import { Link } from '@tanstack/react-router'
import type { Answers } from '../api/operator-client.ts'
import { PageFrame } from '../frame/page-frame.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Facts, Section } from '../parts/section.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { OverviewStrip, useAnswerTimes, useOverview, useProviderHealth } from './overview-strip.tsx'

const REFRESH_MS = 5_000

/** The first page: what waits, how soon deliveries are answered, and what needs somebody. */
export function OverviewPage() {
  return (
    <PageFrame title={texts.pages.overview}>
      <OverviewStrip />
      <Section title={texts.health.answers}>
        <Answered />
      </Section>
      <Section title={texts.health.deadByReason}>
        <DeadByReason />
      </Section>
      <Section title={texts.pages.providers}>
        <Providers />
      </Section>
    </PageFrame>
  )
}

function Answered() {
  const { data, error } = useAnswerTimes()
  if (error !== null) return <QueryProblem error={error} />
  if (data === undefined) return <p role="status">{texts.frame.loading}</p>
  const { count, withinSeconds } = data
  if (count === 0) return <p>{texts.health.noAnswers}</p>
  return <p>{texts.health.within(count, withinSeconds === null ? null : Math.round(withinSeconds * 1_000))}</p>
}

function DeadByReason() {
  const { data } = useOverview()
  if (data === undefined) return null
  const { deadByReason, deadOfOtherReasons } = data
  const reasons = Object.entries(deadByReason ?? {})
  const others = deadOfOtherReasons ? [[texts.health.otherReasons, texts.number(deadOfOtherReasons)] as const] : []
  if (reasons.length === 0) return <p>{texts.health.noneDead}</p>
  return (
    <Facts
      items={[
        ...reasons.map(
          ([reason, count]) =>
            [
              reason,
              <Link key={reason} to="/events" search={{ state: 'dead', reason }}>
                {texts.number(count)}
              </Link>,
            ] as const,
        ),
        ...others,
      ]}
    />
  )
}

type ProviderHealth = Answers['providers']['health']['providers'][number]

function Providers() {
  const overview = useOverview()
  const { data, error } = useProviderHealth(REFRESH_MS)
  if (error !== null) return <QueryProblem error={error} />
  if (data === undefined) return <p role="status">{texts.frame.loading}</p>
  const paused = new Set(overview.data?.pausedProviders)
  const { lastDelivery, lastMinute, lastHour, refused, oldest, ending } = texts.health
  return (
    <PlainTable
      caption={texts.pages.providers}
      heads={[texts.events.provider, lastDelivery, lastMinute, lastHour, refused, oldest, ending]}
      rows={data.providers.map((provider) => ({
        key: provider.name,
        cells: toCells(provider, paused.has(provider.name)),
      }))}
    />
  )
}

function toCells(provider: ProviderHealth, isPaused: boolean) {
  const { name, refused, oldestUnsettledSeconds, secretsEnding } = provider
  const waits =
    oldestUnsettledSeconds === 0 ? texts.overview.nothingWaits : texts.overview.count(oldestUnsettledSeconds)
  return [
    <span key="name">
      {name}
      {isPaused && <strong className="block text-wait">{texts.providers.paused}</strong>}
    </span>,
    <LastDelivery key="last" provider={provider} />,
    texts.overview.count(provider.lastMinute),
    texts.overview.count(provider.lastHour),
    <Link key="refused" to="/refused" search={{ provider: name }}>
      {texts.overview.count(refused.reduce((sum, one) => sum + one.count, 0))}
    </Link>,
    oldestUnsettledSeconds ? texts.time.seconds(oldestUnsettledSeconds) : waits,
    secretsEnding.length === 0 ? texts.health.noneEnds : secretsEnding.map(({ id }) => id).join(', '),
  ]
}

function LastDelivery({ provider: { lastDeliveryAt, silentSince, usualGapSeconds } }: { provider: ProviderHealth }) {
  return (
    <>
      <Instant at={lastDeliveryAt} />
      {silentSince !== null && usualGapSeconds !== null && (
        <strong className="block text-bad">{texts.health.silent(texts.time.seconds(usualGapSeconds))}</strong>
      )}
    </>
  )
}
