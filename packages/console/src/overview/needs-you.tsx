// What needs somebody, the worst first. Each line leads to where it can be mended.

import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'
import { useHandlers } from '../handlers/use-handlers.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { useMinutes, useOverview } from './use-overview.ts'

// Counting the events of the providers costs the gateway up to a second.
const HEALTH_REFRESH_MS = 30_000

export function NeedsYou() {
  const overview = useOverview()
  const health = useLive(['providers', 'health'], () => operator.providers.health.query(), HEALTH_REFRESH_MS)
  const hour = useMinutes('hour')
  const { data: handlers = [] } = useHandlers()
  const error = [overview, health, hour].find((query) => query.error !== null)?.error ?? null
  const isKnown = overview.data !== undefined && health.data !== undefined && hour.data !== undefined
  const needs = [
    ...(overview.data === undefined ? [] : deadOnes(overview.data)),
    ...handlers.filter(({ answers }) => answers === false).map(toSilentHandler),
    ...(health.data?.providers ?? []).flatMap(providerNeeds),
    ...(overview.data === undefined ? [] : waitingOnes(overview.data)),
    ...(hour.data?.refusedBecause ?? []).map(toRefused),
    ...pausedOnes(overview.data?.pausedProviders ?? [], handlers),
  ]
  return (
    <section aria-labelledby="needs">
      <h2 id="needs" className="mb-2 text-base font-semibold">
        Needs you
      </h2>
      <QueryProblem error={error} />
      <ul className="border-t border-line">{needs.map(toLine)}</ul>
      {needs.length === 0 && error === null && (
        <p role="status" className={isKnown ? 'mt-2 text-good' : 'mt-2'}>
          {isKnown ? '✓ All quiet: nothing is dead, late or refused.' : texts.loading}
        </p>
      )}
    </section>
  )
}

const MARKS = {
  bad: ['✕', 'text-bad', 'Failure'],
  soon: ['◔', 'text-wait', 'Warning'],
  paused: ['‖', 'text-wait', 'Paused'],
} as const

/** What needs somebody, the link to where it can be mended, and what is said behind the link. */
interface Need extends Pick<LinkProps, 'to' | 'search'> {
  readonly key: string
  readonly level: keyof typeof MARKS
  readonly text: string
  readonly details?: ReactNode
}

function toLine({ key, level, text, details, ...place }: Need) {
  const [mark, colour, word] = MARKS[level]
  return (
    <li key={key} className="flex gap-2 border-b border-line py-2 wrap-anywhere">
      <span className={`w-4 shrink-0 font-semibold ${colour}`}>
        <span aria-hidden="true">{mark}</span>
        <span className="sr-only">{word}: </span>
      </span>
      <span className="min-w-0">
        {place.to === undefined ? text : <Link {...place}>{text}</Link>} {details}
      </span>
    </li>
  )
}

type Overview = Answers['overview']

function deadOnes({ deadByReason, deadOfOtherReasons, states }: Overview): Need[] {
  const others = deadByReason === null ? states.dead : deadOfOtherReasons
  const toNeed = (key: string, text: string, reason?: string): Need => {
    const search = { state: 'dead' as const, ...(reason !== undefined && { reason }) }
    return { key, level: 'bad', to: '/events', search, text }
  }
  const say = (count: number): string => texts.plural(count, 'dead event', 'dead events')
  const known = Object.entries(deadByReason ?? {}).map(([reason, count]) =>
    toNeed(`dead ${reason}`, `${say(count)}: ${reason}`, reason),
  )
  if (others === 0) return known
  return [...known, toNeed('dead', others === null ? 'Dead events: counting took too long' : say(others))]
}

type Handlers = Answers['handlers']['list']

function toSilentHandler({ name }: Handlers[number]): Need {
  return { key: `handler ${name}`, level: 'bad', to: '/handlers', text: `The handler ${name} does not answer` }
}

function providerNeeds(provider: Answers['providers']['health']['providers'][number]): Need[] {
  const { name, silentSince, usualGapSeconds: gap, secretsEnding } = provider
  const since = (
    <span className="text-quiet">
      since <Instant at={silentSince} />
      {gap !== null && `, its longest usual pause is ${texts.time.seconds(gap)}`}
    </span>
  )
  const ending = secretsEnding.map(({ id, notAfter }): Need => {
    const text = `The secret ${id} of ${name} expires`
    return { key: `ends ${name} ${id}`, level: 'soon', to: '/providers', text, details: <Instant at={notAfter} /> }
  })
  if (silentSince === null) return ending
  return [
    { key: `silent ${name}`, level: 'bad', to: '/providers', text: `${name} is silent`, details: since },
    ...ending,
  ]
}

// What is retried after a short failure is done before.
const LONG_SECONDS = 60

function waitingOnes({ oldestUnsettledSeconds: seconds, states }: Overview): Need[] {
  if (seconds !== null && seconds < LONG_SECONDS) return []
  const events = states.pending === null ? 'Events' : texts.plural(states.pending, 'event', 'events')
  const age = seconds === null ? 'for an unknown time' : `the oldest for ${texts.time.seconds(seconds)}`
  const text = `${events} pending, ${age}`
  return [{ key: 'waiting', level: 'soon', to: '/events', search: { state: 'pending' }, text }]
}

// Of these there is no record, only a line in the log: the gateway failed, or what it needs.
const FAILURES = ['unavailable', 'overloaded', 'not_stored', 'not_checked', 'internal']

function toRefused({ reason, count }: { readonly reason: string; readonly count: number }): Need {
  const key = `refused ${reason}`
  const deliveries = texts.plural(count, 'delivery', 'deliveries')
  if (FAILURES.includes(reason)) {
    const advice = 'The log of the gateway says why, and providers deliver again.'
    return { key, level: 'bad', text: `${deliveries} not taken in the last hour: ${reason}. ${advice}` }
  }
  const text = `${deliveries} refused in the last hour: ${reason}`
  return { key, level: 'soon', to: '/refused', search: { reason }, text }
}

function pausedOnes(providers: readonly string[], handlers: Handlers): Need[] {
  const paused = handlers.filter((one) => one.paused !== null || one.pausedBySetting).map(({ name }) => name)
  const kinds = [
    ['/providers', 'Paused', providers],
    ['/handlers', 'Paused handlers', paused],
  ] as const
  return kinds
    .filter(([, , names]) => names.length > 0)
    .map(([to, what, names]) => ({ key: to, level: 'paused', to, text: `${what}: ${names.join(', ')}` }))
}
