import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type EventDetails, type ListedEvent, operator } from '../api/operator-client.ts'
import { QueryProblem } from '../frame/query-problem.tsx'
import { handlerOf } from '../handlers/handler-of.ts'
import { Instant } from '../parts/instant.tsx'
import { PlainTable } from '../parts/plain-table.tsx'
import { Section } from '../parts/section.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { texts } from '../texts/texts.ts'

const REFRESH_MS = 5_000
// More handlers than can be configured at a time.
const MOST = 100

/** The tasks of an event, one for each handler, with links to them. Nothing if fulfilment has the only one. */
export function EventTasks({ event }: { readonly event: EventDetails }) {
  const { provider, eventId } = event
  const { data, error } = useQuery({
    queryKey: ['events', 'tasks', provider, eventId],
    queryFn: () => operator.events.list.query({ provider, eventId, limit: MOST }),
    refetchInterval: REFRESH_MS,
  })
  if (error !== null) return <QueryProblem error={error} />
  const tasks = data?.items ?? []
  if (tasks.length < 2 && event.handler === undefined) return null
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
  const name = handlerOf(task) ?? texts.handlers.nobody
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
