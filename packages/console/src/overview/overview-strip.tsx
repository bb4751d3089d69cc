// The first lines of the page: what waits, what is dead, what arrives, and who is silent.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useHandlers } from '../handlers/use-handlers.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { texts } from '../texts/texts.ts'

const REFRESH_MS = 5_000
// Counting the events of the providers costs the gateway up to a second.
const HEALTH_REFRESH_MS = 30_000

/** The overview, kept up to date for every component that shows it. */
export function useOverview() {
  return useQuery({ queryKey: ['overview'], queryFn: () => operator.overview.query(), refetchInterval: REFRESH_MS })
}

/** What an operator wants to know first: whether events wait too long, whether any are dead, and whether any arrive. */
export function OverviewStrip() {
  const { data, error } = useOverview()
  if (error !== null) return <QueryProblem error={error} />
  return (
    <section aria-label={texts.overview.title} className="min-h-11">
      {data !== undefined && <Numbers overview={data} />}
      {data !== undefined && data.pausedProviders.length > 0 && (
        <p className="mt-1 text-wait">
          <Link to="/providers" className="underline">
            {texts.providers.pausedOnes(data.pausedProviders)}
          </Link>{' '}
          {texts.providers.pausedMeans}
        </p>
      )}
      <HandlerNotices />
    </section>
  )
}

/** The handlers that are paused, and those that do not answer. */
function HandlerNotices() {
  const { data = [] } = useHandlers()
  const paused = data.filter((one) => one.paused !== null || one.pausedBySetting).map(({ name }) => name)
  const silent = data.filter(({ answers }) => answers === false).map(({ name }) => name)
  return (
    <>
      {paused.length > 0 && (
        <p className="mt-1 wrap-anywhere text-wait">
          <Link to="/handlers" className="underline">
            {texts.handlers.pausedOnes(paused)}
          </Link>{' '}
          {texts.handlers.pausedMeans}
        </p>
      )}
      {silent.length > 0 && (
        <p className="mt-1 wrap-anywhere">
          <Link to="/handlers" className="font-semibold text-bad">
            {texts.handlers.silentOnes(silent)}
          </Link>
        </p>
      )}
    </>
  )
}

function describeOldest(overview: Answers['overview']): string {
  const { states, oldestUnsettledSeconds: seconds, pausedProviders, pausedHandlers } = overview
  if (seconds === null || (states.pending === 0 && states.processing === 0)) return texts.overview.nothingWaits
  // What waits because of a pause is not part of this age.
  if (seconds === 0 && pausedProviders.length + pausedHandlers.length > 0) return texts.overview.onlyPaused
  return texts.time.seconds(seconds)
}

function Numbers({ overview }: { readonly overview: Answers['overview'] }) {
  const { states, receivedLastMinute } = overview
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-1">
      <Figure name={texts.overview.oldest}>{describeOldest(overview)}</Figure>
      <Figure name={texts.overview.pending}>
        <Link to="/events" search={{ state: 'pending' }}>
          {texts.overview.count(states.pending)}
        </Link>
      </Figure>
      <Figure name={texts.overview.dead}>
        <Link to="/events" search={{ state: 'dead' }} className={states.dead === 0 ? '' : 'font-semibold text-bad'}>
          {texts.overview.count(states.dead)}
        </Link>
      </Figure>
      <Figure name={texts.overview.rate}>{texts.overview.count(receivedLastMinute)}</Figure>
      <Answered />
      <Warnings />
    </dl>
  )
}

/** The time within which deliveries are answered. */
function Answered() {
  const { data, error } = useAnswerTimes()
  return (
    <Figure name={texts.overview.answered}>
      {data === undefined && (error === null ? texts.frame.none : texts.overview.notRead)}
      {data?.count === 0 && texts.overview.noneAnswered}
      {data !== undefined && data.count > 0 && texts.overview.within(data.withinSeconds)}
    </Figure>
  )
}

/** The silent providers, and the secrets that expire soon. */
function Warnings() {
  const { data } = useProviderHealth(HEALTH_REFRESH_MS)
  const silent = data?.providers.filter(({ silentSince }) => silentSince !== null).map(({ name }) => name)
  const ending = data?.providers.flatMap(({ name, secretsEnding }) => secretsEnding.map(({ id }) => `${name}: ${id}`))
  return (
    <>
      <Warning name={texts.overview.silent} about={silent} />
      <Warning name={texts.overview.ending} about={ending} />
    </>
  )
}

function Warning({ name, about }: { readonly name: string; readonly about: readonly string[] | undefined }) {
  return (
    <Figure name={name}>
      {about === undefined && texts.frame.none}
      {about?.length === 0 && texts.overview.nothing}
      {about !== undefined && about.length > 0 && (
        <Link to="/providers" className="font-semibold text-bad">
          {about.join(', ')}
        </Link>
      )}
    </Figure>
  )
}

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt className="text-quiet">{name}</dt>
      <dd className="tabular-nums">{children}</dd>
    </div>
  )
}

/** The time within which this gateway has answered 99 % of the deliveries, kept up to date for every component that shows it. */
export function useAnswerTimes() {
  return useQuery({
    queryKey: ['answerTimes'],
    queryFn: () => operator.answerTimes.query(),
    refetchInterval: REFRESH_MS,
  })
}

/** The health of each provider, read every `refreshMs` milliseconds. Each reading costs the gateway up to a second. */
export function useProviderHealth(refreshMs: number) {
  return useQuery({
    queryKey: ['providers', 'health'],
    queryFn: () => operator.providers.health.query(),
    refetchInterval: refreshMs,
  })
}
