// The page of one event: its facts, its tasks, its attempts and its replays. Actions and body are files of their own.

import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type EventDetails, type ListedEvent, operator } from '../api/operator-client.ts'
import { OrderLink } from '../events/events-table.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { isConfigured } from '../handlers/use-handlers.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Facts, Section } from '../parts/section.tsx'
import { Instant, StateBadge, TestTag } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { EventActions } from './event-actions.tsx'
import { EventBody } from './event-body.tsx'

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
        [texts.handlers.handler, event.handler || null],
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

const REFRESH_MS = 2_000

function useEvent(id: string) {
  return useQuery<EventDetails>({
    queryKey: ['events', 'get', id],
    queryFn: () => operator.events.get.query({ id }),
    refetchInterval: REFRESH_MS,
  })
}

const TASKS_REFRESH_MS = 5_000
// More handlers than can be configured at a time.
const MOST = 100

/** The tasks of an event, one for each handler, with links to them. Nothing if fulfilment has the only one. */
function EventTasks({ event }: { readonly event: EventDetails }) {
  const { provider, eventId } = event
  const { data, error } = useQuery({
    queryKey: ['events', 'tasks', provider, eventId],
    queryFn: () => operator.events.list.query({ provider, eventId, limit: MOST }),
    refetchInterval: TASKS_REFRESH_MS,
  })
  if (error !== null) return <QueryProblem error={error} />
  const tasks = data?.items ?? []
  if (tasks.length < 2 && !isConfigured(event.handler)) return null
  const { tasks: title, handler } = texts.handlers
  return (
    <Section title={title}>
      <PlainTable
        caption={title}
        heads={[handler, texts.events.state, texts.events.attempts, texts.events.reason, texts.event.settled]}
        rows={tasks.map((task) => ({ key: task.id, cells: toCells(task, task.id === event.id) }))}
      />
    </Section>
  )
}

function toCells(task: ListedEvent, isShown: boolean) {
  const name = task.handler || texts.handlers.nobody
  return [
    isShown ? (
      <strong key="handler">{texts.handlers.shown(name)}</strong>
    ) : (
      <Link key="handler" to="/events/$id" params={{ id: task.id }}>
        {name}
      </Link>
    ),
    <StateBadge key="state" state={task.state} />,
    texts.number(task.starts),
    <code key="reason" className="font-mono">
      {task.reason ?? texts.frame.none}
    </code>,
    <Instant key="settled" at={task.settledAt} />,
  ]
}
