// The page of one event: what it is and what to do next, its life, its tasks, its body, and its facts.

import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { type EventDetails, type ListedEvent, operator } from '../api/operator-client.ts'
import { OrderLink } from '../events/events-table.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { isConfigured } from '../handlers/use-handlers.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Facts, Loading, Section } from '../parts/section.tsx'
import { Ago, Instant, StateBadge, TestTag } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { EventActions } from './event-actions.tsx'
import { EventBody } from './event-body.tsx'
import { EventLife } from './event-life.tsx'
import { EventOrder } from './event-order.tsx'

/** One event: everything that is stored about it, and its actions. */
export function EventPage() {
  const { id } = useParams({ from: '/events/$id' })
  const { data, error, refetch } = useEvent(id)
  return (
    <PageFrame title={data?.eventId ?? texts.pages.event}>
      <p className="mb-2">
        <Link to="/events">{texts.event.back}</Link>
      </p>
      <QueryProblem error={error} retry={() => void refetch()} />
      {data === undefined && error === null && <Loading />}
      {data !== undefined && <Details key={data.id} event={data} />}
    </PageFrame>
  )
}

function Details({ event }: { readonly event: EventDetails }) {
  return (
    <>
      <Summary event={event} />
      {event.orderId !== '' && <EventOrder event={event} />}
      <EventActions event={event} />
      <EventTasks event={event} />
      <Section title={texts.event.life.title}>
        <EventLife event={event} />
      </Section>
      <EventBody event={event} />
      <Section title={texts.event.facts}>
        <EventFacts event={event} />
      </Section>
    </>
  )
}

/** What the event is and what has become of it, in a sentence, and what to do next. */
function Summary({ event }: { readonly event: EventDetails }) {
  const { state, reason, handler, type, provider, orderId } = event
  return (
    <section aria-label={texts.event.next} className="rounded-lg border border-line bg-raised p-3">
      <p className="flex flex-wrap items-baseline gap-x-2 wrap-anywhere">
        <span className="font-semibold">
          <StateBadge state={state} />
        </span>
        {reason !== null && <code className="font-mono">{reason}</code>}
        <span aria-hidden="true">·</span>
        <span>
          <code className="font-mono wrap-anywhere">{type}</code> {texts.event.of(provider)}
          {handler !== '' && ` ${texts.event.forHandler(handler)}`}
          {', '}
          {texts.event.received} <Ago at={event.receivedAt} />
        </span>
        {orderId !== '' && (
          <span className="min-w-0">
            · {texts.events.order} <OrderLink orderId={orderId} />
          </span>
        )}
        {event.test && <TestTag />}
      </p>
      <NextStep event={event} />
    </section>
  )
}

/** What an operator should do about an event now, and why. */
function NextStep({ event }: { readonly event: EventDetails }) {
  const { lastError, state } = event
  return (
    <>
      {state !== 'done' && lastError !== null && (
        <p className="mt-1 wrap-anywhere">
          <span className="text-quiet">{texts.event.lastError}</span>{' '}
          <code className="font-mono">{lastError.code}</code>
          {': '}
          {lastError.message}
        </p>
      )}
      <p className="mt-1">
        <strong>{texts.event.next}</strong> <Step event={event} />
      </p>
    </>
  )
}

function Step({ event }: { readonly event: EventDetails }) {
  const { state, reason, closed } = event
  const { advice } = texts
  if (state === 'pending') return <Waiting event={event} />
  if (state === 'processing') return advice.processing
  if (state === 'done') return advice.done
  if (state === 'closed') return `${texts.event.closedBy(closed?.by ?? '')}: ${closed?.reason ?? ''}. ${advice.closed}`
  const known = ADVICE.get(reason ?? '')
  return known ?? (state === 'dead' ? advice.dead : advice.unhandled)
}

/** The reasons come from the gateway, and from handlers, which choose their own. */
const ADVICE: ReadonlyMap<string, string> = new Map(Object.entries(texts.advice.reasons))

function Waiting({ event: { waitsFor, notSent, dueAt } }: { readonly event: EventDetails }) {
  if (!waitsFor && !notSent) {
    return (
      <>
        {texts.advice.due} <Instant at={dueAt} />
      </>
    )
  }
  return (
    <>
      {notSent && (
        <>
          <span>{texts.event.notSentBecause[notSent]}</span> {texts.advice.notSent[notSent]}{' '}
        </>
      )}
      {waitsFor && (
        <>
          {texts.event.waitsFor}{' '}
          <Link to="/events/$id" params={{ id: waitsFor }} className="break-all">
            {texts.event.earlierTask}
          </Link>
          . {texts.advice.waits}
        </>
      )}
    </>
  )
}

function EventFacts({ event }: { readonly event: EventDetails }) {
  return (
    <Facts
      items={[
        [texts.event.object, event.objectId || null],
        [texts.event.secret, event.secretId],
        [texts.events.deliveries, texts.events.deliveriesOf(event.deliveries, event.mismatches)],
        [texts.events.attempts, event.starts],
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
