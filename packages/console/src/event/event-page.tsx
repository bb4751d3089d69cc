// The page of one event: what it is and what to do next, its life, its tasks, its body, and its facts.

import { Link, useParams } from '@tanstack/react-router'
import { type EventDetails, type ListedEvent, operator } from '../api/operator-client.ts'
import { useLive } from '../api/use-answer.ts'
import { OrderLink } from '../events/events-table.tsx'
import { PageFrame } from '../frame/page-frame.tsx'
import { isConfigured } from '../handlers/use-handlers.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { QueryProblem } from '../parts/problem-notice.tsx'
import { Facts, Read, Section } from '../parts/section.tsx'
import { Ago, Instant, StateBadge, TestTag } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { EventActions } from './event-actions.tsx'
import { EventBody } from './event-body.tsx'
import { EventLife } from './event-life.tsx'
import { EventOrder } from './event-order.tsx'

const REFRESH_MS = 2_000

export function EventPage() {
  const { id } = useParams({ from: '/events/$id' })
  const query = useLive(['events', 'get', id], () => operator.events.get.query({ id }), REFRESH_MS)
  return (
    <PageFrame title={query.data?.eventId ?? 'Event'}>
      <p className="mb-2">
        <Link to="/events">All events</Link>
      </p>
      <Read query={query}>{(event) => <Details key={event.id} event={event} />}</Read>
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
      <Section title="Life">
        <EventLife event={event} />
      </Section>
      <EventBody event={event} />
      <Section title="Facts">
        <Facts
          items={[
            ['Payment', event.objectId || null],
            ['Secret', event.secretId],
            ['Deliveries', texts.deliveriesOf(event.deliveries, event.mismatches)],
            ['Attempts', event.starts],
            ['Revived by a delivery', event.revivals || null],
            ['Body', texts.bytes(event.bytes)],
            ['Record', <code key="i">{event.id}</code>],
          ]}
        />
      </Section>
    </>
  )
}

/** What the event is and what has become of it, in a sentence, and what to do next. */
function Summary({ event }: { readonly event: EventDetails }) {
  const { state, reason, handler, type, provider, orderId, lastError } = event
  return (
    <section aria-label="Next:" className="rounded-lg border border-line bg-raised p-3">
      <p className="flex flex-wrap items-baseline gap-x-2 wrap-anywhere">
        <span className="font-semibold">
          <StateBadge state={state} />
        </span>
        {reason !== null && <code>{reason}</code>}
        <span aria-hidden="true">·</span>
        <span>
          <code className="wrap-anywhere">{type}</code> of {provider}
          {handler !== '' && ` for ${handler}`}, received <Ago at={event.receivedAt} />
        </span>
        {orderId !== '' && (
          <span className="min-w-0">
            · Order <OrderLink orderId={orderId} />
          </span>
        )}
        {event.test && <TestTag />}
      </p>
      {state !== 'done' && lastError !== null && (
        <p className="mt-1 wrap-anywhere">
          <span className="text-quiet">Last error</span> <code>{lastError.code}</code>: {lastError.message}
        </p>
      )}
      <p className="mt-1">
        <strong>Next:</strong> <Step event={event} />
      </p>
    </section>
  )
}

/** What an operator should do about an event now. */
function Step({ event }: { readonly event: EventDetails }) {
  const { state, reason, closed } = event
  if (state === 'pending') return <Waiting event={event} />
  if (state === 'processing') return 'nothing. A process works on it. If you know that it hangs, release it.'
  if (state === 'done') return 'nothing. It has its effect.'
  if (state === 'closed') return `closed by ${closed?.by}: ${closed?.reason}. Nothing to do.`
  const known = ADVICE.get(reason ?? '')
  if (known !== undefined) return known
  return state === 'dead'
    ? 'correct what the last error names, then replay it.'
    : 'nothing, unless it should have an effect. Then correct the settings and replay it.'
}

/** The reasons come from the gateway, and from handlers, which choose their own. */
const ADVICE: ReadonlyMap<string, string> = new Map(Object.entries(texts.advice))

/** Why a task is not sent, and what helps. */
const NOT_SENT = {
  handler_removed: ['Its handler is not in the setting.', 'Add it again, or discard its tasks on the page Handlers.'],
  handler_paused: ['Its handler is paused.', 'Resume it on the page Handlers, or in the setting.'],
  provider_paused: ['Its provider is paused.', 'Resume it on the page Providers.'],
} as const

function Waiting({ event: { waitsFor, notSent, dueAt } }: { readonly event: EventDetails }) {
  if (!waitsFor && !notSent) {
    return (
      <>
        nothing. The next attempt is at <Instant at={dueAt} />
      </>
    )
  }
  return (
    <>
      {notSent && (
        <>
          <span>{NOT_SENT[notSent][0]}</span> {NOT_SENT[notSent][1]}{' '}
        </>
      )}
      {waitsFor && (
        <>
          Waits for{' '}
          <Link to="/events/$id" params={{ id: waitsFor }} className="break-all">
            an earlier task of its line
          </Link>
          . If that one is dead, replay or close it.
        </>
      )}
    </>
  )
}

// More handlers than can be configured at a time.
const MOST = 100

/** The tasks of an event, one for each handler, with links to them. Nothing if fulfilment has the only one. */
function EventTasks({ event }: { readonly event: EventDetails }) {
  const { provider, eventId } = event
  const { data, error } = useLive(['events', 'tasks', provider, eventId], () =>
    operator.events.list.query({ provider, eventId, limit: MOST }),
  )
  if (error !== null) return <QueryProblem error={error} />
  const tasks = data?.items ?? []
  if (tasks.length < 2 && !isConfigured(event.handler)) return null
  const title = 'Tasks of this event'
  return (
    <Section title={title}>
      <PlainTable
        caption={title}
        heads={['Handler', 'State', 'Attempts', 'Reason', 'Settled']}
        rows={tasks.map((task) => ({ key: task.id, cells: toCells(task, task.id === event.id) }))}
      />
    </Section>
  )
}

function toCells(task: ListedEvent, isShown: boolean) {
  const name = task.handler || texts.nobody
  return [
    isShown ? (
      <strong key="handler">{name} (shown here)</strong>
    ) : (
      <Link key="handler" to="/events/$id" params={{ id: task.id }}>
        {name}
      </Link>
    ),
    <StateBadge key="state" state={task.state} />,
    texts.number(task.starts),
    <code key="reason">{task.reason ?? texts.none}</code>,
    <Instant key="settled" at={task.settledAt} />,
  ]
}
