// What needs somebody, the worst first. Each line leads to where it can be mended.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { type Answers, operator } from '../api/operator-client.ts'
import { useHandlers } from '../handlers/use-handlers.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Instant } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { useMinutes, useOverview } from './use-overview.ts'

// Counting the events of the providers costs the gateway up to a second.
const HEALTH_REFRESH_MS = 30_000

export function NeedsYou() {
  const overview = useOverview()
  const health = useQuery({
    queryKey: ['providers', 'health'],
    queryFn: () => operator.providers.health.query(),
    refetchInterval: HEALTH_REFRESH_MS,
  })
  const hour = useMinutes('hour')
  const { data: handlers = [] } = useHandlers()
  const error = [overview, health, hour].find((query) => query.error !== null)?.error ?? null
  const isKnown = overview.data !== undefined && health.data !== undefined && hour.data !== undefined
  const needs = [
    ...deadOnes(overview.data),
    ...handlers.filter(({ answers }) => answers === false).map(toSilentHandler),
    ...(health.data?.providers ?? []).flatMap(providerNeeds),
    ...waitingOnes(overview.data),
    ...(hour.data?.refusedBecause ?? []).map(toRefused),
    ...pausedOnes(overview.data?.pausedProviders ?? [], handlers),
  ]
  return (
    <section aria-labelledby="needs">
      <h2 id="needs" className="mb-2 text-base font-semibold">
        Needs you
      </h2>
      <QueryProblem error={error} />
      <ul className="border-t border-line">{needs}</ul>
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

function Need({ level, children }: { readonly level: keyof typeof MARKS; readonly children: ReactNode }) {
  const [mark, colour, word] = MARKS[level]
  return (
    <li className="flex gap-2 border-b border-line py-2 wrap-anywhere">
      <span className={`w-4 shrink-0 font-semibold ${colour}`}>
        <span aria-hidden="true">{mark}</span>
        <span className="sr-only">{word}: </span>
      </span>
      <span className="min-w-0">{children}</span>
    </li>
  )
}

type Overview = Answers['overview'] | undefined

function deadOnes(overview: Overview) {
  if (overview === undefined) return []
  const { deadByReason, deadOfOtherReasons, states } = overview
  const others = deadByReason === null ? states.dead : deadOfOtherReasons
  const say = (count: number): string => texts.plural(count, 'dead event', 'dead events')
  const known = Object.entries(deadByReason ?? {}).map(([reason, count]) => (
    <Need key={`dead ${reason}`} level="bad">
      <Link to="/events" search={{ state: 'dead', reason }}>
        {say(count)}: {reason}
      </Link>
    </Need>
  ))
  if (others === 0) return known
  return [
    ...known,
    <Need key="dead" level="bad">
      <Link to="/events" search={{ state: 'dead' }}>
        {others === null ? 'Dead events: counting took too long' : say(others)}
      </Link>
    </Need>,
  ]
}

type Handlers = Answers['handlers']['list']

const toSilentHandler = ({ name }: Handlers[number]) => (
  <Need key={`handler ${name}`} level="bad">
    <Link to="/handlers">The handler {name} does not answer</Link>
  </Need>
)

function providerNeeds(provider: Answers['providers']['health']['providers'][number]) {
  const { name, silentSince, usualGapSeconds: gap, secretsEnding } = provider
  const silent = (
    <Need key={`silent ${name}`} level="bad">
      <Link to="/providers">{name} is silent</Link>{' '}
      <span className="text-quiet">
        since <Instant at={silentSince} />
        {gap !== null && `, its longest usual pause is ${texts.time.seconds(gap)}`}
      </span>
    </Need>
  )
  const ending = secretsEnding.map(({ id, notAfter }) => (
    <Need key={`ends ${name} ${id}`} level="soon">
      <Link to="/providers">{`The secret ${id} of ${name} expires`}</Link> <Instant at={notAfter} />
    </Need>
  ))
  return silentSince === null ? ending : [silent, ...ending]
}

// What is retried after a short failure is done before.
const LONG_SECONDS = 60

function waitingOnes(overview: Overview) {
  if (overview === undefined) return []
  const { oldestUnsettledSeconds: seconds, states } = overview
  if (seconds !== null && seconds < LONG_SECONDS) return []
  const events = states.pending === null ? 'Events' : texts.plural(states.pending, 'event', 'events')
  const age = seconds === null ? 'for an unknown time' : `the oldest for ${texts.time.seconds(seconds)}`
  return [
    <Need key="waiting" level="soon">
      <Link to="/events" search={{ state: 'pending' }}>{`${events} pending, ${age}`}</Link>
    </Need>,
  ]
}

// Of these there is no record, only a line in the log: the gateway failed, or what it needs.
const FAILURES = ['unavailable', 'overloaded', 'not_stored', 'not_checked', 'internal']

function toRefused({ reason, count }: { readonly reason: string; readonly count: number }) {
  const deliveries = texts.plural(count, 'delivery', 'deliveries')
  return FAILURES.includes(reason) ? (
    <Need key={`refused ${reason}`} level="bad">
      {`${deliveries} not taken in the last hour: ${reason}. The log of the gateway says why, and providers deliver again.`}
    </Need>
  ) : (
    <Need key={`refused ${reason}`} level="soon">
      <Link to="/refused" search={{ reason }}>{`${deliveries} refused in the last hour: ${reason}`}</Link>
    </Need>
  )
}

function pausedOnes(providers: readonly string[], handlers: Handlers) {
  const paused = handlers.filter((one) => one.paused !== null || one.pausedBySetting).map(({ name }) => name)
  const kinds = [
    ['/providers', 'Paused', providers],
    ['/handlers', 'Paused handlers', paused],
  ] as const
  return kinds
    .filter(([, , names]) => names.length > 0)
    .map(([to, what, names]) => (
      <Need key={to} level="paused">
        <Link to={to}>
          {what}: {names.join(', ')}
        </Link>
      </Need>
    ))
}
