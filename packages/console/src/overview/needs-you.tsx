// What needs somebody, the worst first. Each line leads to where it can be mended.

import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Answers } from '../api/operator-client.ts'
import { useHandlers } from '../handlers/use-handlers.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { useMinutes, useOverview, useProviderHealth } from './use-overview.ts'

export function NeedsYou() {
  const overview = useOverview()
  const health = useProviderHealth()
  const hour = useMinutes('hour')
  const { data: handlers = [] } = useHandlers()
  const error = [overview, health, hour].find((query) => query.error !== null)?.error ?? null
  const isKnown = overview.data !== undefined && health.data !== undefined && hour.data !== undefined
  const needs = [
    ...(overview.data === undefined ? [] : deadOnes(overview.data)),
    ...silentHandlers(handlers),
    ...(health.data?.providers ?? []).flatMap(providerNeeds),
    ...(overview.data === undefined ? [] : waitingOnes(overview.data)),
    ...(hour.data?.refusedBecause ?? []).map(refusedOnes),
    ...pausedOnes(overview.data, handlers),
  ]
  return (
    <section aria-labelledby="needs">
      <h2 id="needs" className="mb-2 text-base font-semibold">
        {texts.needs.title}
      </h2>
      <QueryProblem error={error} />
      <ul className="border-t border-line">
        {needs.map(({ key, level, line }) => (
          <li key={key} className="flex gap-2 border-b border-line py-2 wrap-anywhere">
            <Mark level={level} />
            <span className="min-w-0">{line}</span>
          </li>
        ))}
      </ul>
      {needs.length === 0 && error === null && (
        <p role="status" className={isKnown ? 'mt-2 text-good' : 'mt-2'}>
          {isKnown ? `✓ ${texts.needs.nothing}` : texts.frame.loading}
        </p>
      )}
    </section>
  )
}

interface Need {
  readonly key: string
  readonly level: keyof typeof MARKS
  readonly line: ReactNode
}

const MARKS = { bad: ['✕', 'text-bad'], soon: ['◔', 'text-wait'], paused: ['‖', 'text-wait'] } as const

function Mark({ level }: { readonly level: Need['level'] }) {
  const [mark, colour] = MARKS[level]
  return (
    <span className={`w-4 shrink-0 font-semibold ${colour}`}>
      <span aria-hidden="true">{mark}</span>
      <span className="sr-only">{texts.needs.levels[level]}: </span>
    </span>
  )
}

function deadOnes({ deadByReason, deadOfOtherReasons, states }: Answers['overview']): Need[] {
  const others = deadByReason === null ? states.dead : deadOfOtherReasons
  const line = (reason: string | undefined, count: number | null) => (
    <Link to="/events" search={{ state: 'dead', ...(reason === undefined ? {} : { reason }) }}>
      {texts.needs.dead(count, reason)}
    </Link>
  )
  return [
    ...Object.entries(deadByReason ?? {}).map(
      ([reason, count]): Need => ({ key: `dead ${reason}`, level: 'bad', line: line(reason, count) }),
    ),
    ...(others === 0 ? [] : [{ key: 'dead', level: 'bad' as const, line: line(undefined, others) }]),
  ]
}

function silentHandlers(handlers: Answers['handlers']['list']): Need[] {
  const silent = handlers.filter(({ answers }) => answers === false)
  return silent.map(({ name }) => ({
    ...{ key: `handler ${name}`, level: 'bad' },
    line: <Link to="/handlers">{texts.needs.silentHandler(name)}</Link>,
  }))
}

function providerNeeds(provider: Answers['providers']['health']['providers'][number]): Need[] {
  const { name, silentSince, usualGapSeconds, secretsEnding } = provider
  const silent: Need = {
    ...{ key: `silent ${name}`, level: 'bad' },
    line: (
      <>
        <Link to="/providers">{texts.needs.silentProvider(name)}</Link>
        <span className="text-quiet">
          {' '}
          {texts.needs.since} <Instant at={silentSince} />
          {usualGapSeconds !== null && `, ${texts.needs.usualGap(texts.time.seconds(usualGapSeconds))}`}
        </span>
      </>
    ),
  }
  const ending = secretsEnding.map(
    ({ id, notAfter }): Need => ({
      ...{ key: `ends ${name} ${id}`, level: 'soon' },
      line: (
        <>
          <Link to="/providers">{texts.needs.secretEnds(name, id)}</Link> <Instant at={notAfter} />
        </>
      ),
    }),
  )
  return silentSince === null ? ending : [silent, ...ending]
}

// What is retried after a short failure is done before.
const LONG_SECONDS = 60

function waitingOnes({ oldestUnsettledSeconds: seconds, states }: Answers['overview']): Need[] {
  if (seconds !== null && seconds < LONG_SECONDS) return []
  const line = (
    <Link to="/events" search={{ state: 'pending' }}>
      {texts.needs.waiting(seconds === null ? null : texts.time.seconds(seconds), states.pending)}
    </Link>
  )
  return [{ key: 'waiting', level: 'soon', line }]
}

// Of these there is no record, only a line in the log: the gateway failed, or what it needs.
const FAILURES = ['unavailable', 'overloaded', 'not_stored', 'not_checked', 'internal']

function refusedOnes({ reason, count }: { readonly reason: string; readonly count: number }): Need {
  if (FAILURES.includes(reason)) return { key: reason, level: 'bad', line: texts.needs.notTaken(count, reason) }
  const line = (
    <Link to="/refused" search={{ reason }}>
      {texts.needs.refused(count, reason)}
    </Link>
  )
  return { key: `refused ${reason}`, level: 'soon', line }
}

function pausedOnes(overview: Answers['overview'] | undefined, handlers: Answers['handlers']['list']): Need[] {
  const providers = overview?.pausedProviders ?? []
  const paused = handlers.filter((one) => one.paused !== null || one.pausedBySetting).map(({ name }) => name)
  return [
    ...(providers.length === 0
      ? []
      : [{ key: 'paused', line: <Link to="/providers">{texts.providers.pausedOnes(providers)}</Link> }]),
    ...(paused.length === 0
      ? []
      : [{ key: 'paused handlers', line: <Link to="/handlers">{texts.handlers.pausedOnes(paused)}</Link> }]),
  ].map((one) => ({ ...one, level: 'paused' }))
}
