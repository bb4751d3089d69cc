import { Link, useParams } from '@tanstack/react-router'
import type { EventDetails } from '../api/operator-client.ts'
import { OrderLink } from '../events/events-table.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { QueryProblem } from '../frame/query-problem.tsx'
import { Facts } from '../parts/facts.tsx'
import { Instant } from '../parts/instant.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { Section } from '../parts/section.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { texts } from '../texts/texts.ts'
import { EventActions } from './event-actions.tsx'
import { EventBody } from './event-body.tsx'
import { EventTasks } from './event-tasks.tsx'
import { TestTag } from './test-tag.tsx'
import { useEvent } from './use-event.ts'

/** One event: everything that is stored about it, and its actions. */
export function EventPage() {
  const { id } = useParams({ from: '/events/$id' })
  const { data, error, refetch } = useEvent(id)
  return (
    <PageFrame title={data?.eventId ?? texts.pages.event}>
      <p className="mb-2 flex flex-wrap gap-4">
        <Link to="/events">{texts.event.back}</Link>
        {data !== undefined && data.orderId !== '' && (
          <Link to="/events" search={{ order: data.orderId }}>
            {texts.event.ofOrder}
          </Link>
        )}
      </p>
      <QueryProblem error={error} retry={() => void refetch()} />
      {data === undefined && error === null && <p role="status">{texts.frame.loading}</p>}
      {data !== undefined && <Details key={data.id} event={data} />}
    </PageFrame>
  )
}

function Details({ event }: { readonly event: EventDetails }) {
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-4">
        <StateBadge state={event.state} />
        {event.test && <TestTag />}
        {event.reason !== null && <code className="font-mono">{event.reason}</code>}
      </p>
      <EventActions event={event} />
      <Section title={texts.event.facts}>
        <EventFacts event={event} />
      </Section>
      <EventTasks event={event} />
      <Section title={texts.event.attempts}>
        <Attempts event={event} />
      </Section>
      {event.replays.length > 0 && (
        <Section title={texts.event.replays}>
          <Replays event={event} />
        </Section>
      )}
      <EventBody event={event} />
    </>
  )
}

function EventFacts({ event }: { readonly event: EventDetails }) {
  const { lastError, outcome, closed } = event
  const version = outcome?.version ?? null
  return (
    <Facts
      items={[
        [texts.events.provider, event.provider],
        [texts.events.type, event.type],
        [texts.handlers.handler, event.handler ?? null],
        [texts.events.received, <Instant key="r" at={event.receivedAt} />],
        [texts.events.order, <OrderLink key="o" orderId={event.orderId} />],
        [texts.event.object, event.objectId === '' ? null : event.objectId],
        [texts.event.secret, event.secretId],
        [texts.events.deliveries, texts.events.deliveriesOf(event.deliveries, event.mismatches)],
        [texts.events.attempts, event.starts],
        [texts.event.due, event.dueAt === null ? null : <Instant key="d" at={event.dueAt} />],
        [texts.event.waitsFor, event.waitsFor ? <AwaitedLink key="w" id={event.waitsFor} /> : null],
        [texts.event.notSent, event.notSent ? texts.event.notSentBecause[event.notSent] : null],
        [texts.event.settled, event.settledAt === null ? null : <Instant key="s" at={event.settledAt} />],
        [texts.event.outcome, outcome && [outcome.kind, ...(version ? [texts.event.version(version)] : [])].join(', ')],
        [texts.event.lastError, lastError && `${lastError.code}: ${lastError.message}`],
        [texts.states.closed, closed && `${texts.event.closedBy(closed.by)}: ${closed.reason}`],
        [texts.event.revivals, event.revivals === 0 ? null : event.revivals],
        [texts.event.size, texts.event.bytes(event.bytes)],
        [
          texts.event.id,
          <code key="i" className="font-mono break-all">
            {event.id}
          </code>,
        ],
      ]}
    />
  )
}

function AwaitedLink({ id }: { readonly id: string }) {
  return (
    <Link to="/events/$id" params={{ id }} className="break-all">
      {texts.event.earlierTask}
    </Link>
  )
}

function Attempts({ event: { attempts } }: { readonly event: EventDetails }) {
  if (attempts.length === 0) return <p className="text-quiet">{texts.event.noAttempts}</p>
  return (
    <PlainTable
      caption={texts.event.attempts}
      heads={[texts.event.at, texts.event.took, texts.event.outcome, texts.event.code, texts.event.message]}
      rows={attempts.map(({ at, ms, outcome, code, message }, index) => ({
        key: `${index} ${at}`,
        cells: [<Instant key="at" at={at} />, texts.event.ms(ms), outcome, code ?? '', message ?? ''],
      }))}
    />
  )
}

function Replays({ event: { replays } }: { readonly event: EventDetails }) {
  return (
    <PlainTable
      caption={texts.event.replays}
      heads={[texts.event.at, texts.event.by, texts.action.reason, texts.event.notRead]}
      rows={replays.map(({ at, by, reason, notRead }, index) => ({
        key: `${index} ${at}`,
        cells: [<Instant key="at" at={at} />, by, reason, notRead ?? ''],
      }))}
    />
  )
}
