import { Link } from '@tanstack/react-router'
import type { FeedEvent } from '../api/operator-client.ts'
import { isConfigured } from '../handlers/use-handlers.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Ago, LongId, StateBadge, TestTag } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { nameOf } from './event-feed.ts'
import { changeFilters } from './event-filters.tsx'
import { type EventSearch, matchingTasks } from './event-search.ts'

/** The columns of a list with these filters. A row leads to the task that matches and needs somebody most. */
function toColumns(search: EventSearch): readonly Column<FeedEvent>[] {
  const reasonOf = (event: FeedEvent): string => matchingTasks(event, search)[0]?.reason ?? ''
  return [
    {
      head: texts.events.event,
      cell: (event) => (
        <Link
          to="/events/$id"
          params={{ id: matchingTasks(event, search)[0]?.id ?? event.id }}
          className="flex font-mono"
          aria-label={event.eventId}
          title={event.eventId}
        >
          <LongId id={event.eventId} />
        </Link>
      ),
    },
    {
      head: texts.events.state,
      chars: ({ tasks, test }) =>
        (isOne(tasks) ? 11 : tasks.reduce((sum, one) => sum + markOf(one).length + 4, 0)) + (test ? 6 : 0),
      most: 32,
      cell: ({ tasks, test }) => (
        // The words for screen readers are cut off with the rest.
        <span className="relative flex gap-3 overflow-hidden">
          <TaskMarks tasks={tasks} />
          {test && <TestTag />}
        </span>
      ),
    },
    {
      head: texts.events.reason,
      className: 'hidden lg:table-cell',
      chars: (event) => reasonOf(event).length,
      cell: (event) =>
        reasonOf(event) !== '' && <FilterLink change={{ reason: reasonOf(event) }} text={reasonOf(event)} />,
    },
    {
      head: texts.events.provider,
      className: 'hidden sm:table-cell',
      chars: ({ provider }) => provider.length,
      cell: ({ provider }) => <FilterLink change={{ provider }} text={provider} />,
    },
    {
      head: texts.events.type,
      className: 'hidden xl:table-cell',
      chars: ({ type }) => type.length,
      cell: ({ type }) => <FilterLink change={{ type }} text={type} />,
    },
    {
      head: texts.events.order,
      className: 'hidden lg:table-cell',
      chars: ({ orderId }) => orderId.length + 2,
      most: 19,
      cell: ({ orderId }) => <OrderLink orderId={orderId} />,
    },
    {
      head: texts.events.deliveries,
      className: 'hidden 2xl:table-cell tabular-nums',
      chars: deliveriesOf,
      cell: (event) => texts.events.deliveriesOf(event.deliveries, event.mismatches),
    },
    { head: texts.events.received, chars: () => 10, cell: ({ receivedAt }) => <Ago at={receivedAt} /> },
  ]
}

const deliveriesOf = ({ deliveries, mismatches }: FeedEvent): number =>
  texts.events.deliveriesOf(deliveries, mismatches).length

type Tasks = FeedEvent['tasks']

/** Whether nobody but the built-in handler has it, as without handlers in the setting. */
function isOne([one, ...others]: Tasks): boolean {
  return one !== undefined && others.length === 0 && !isConfigured(one.handler)
}

const markOf = ({ handler, state }: Tasks[number]): string =>
  `${handler || texts.handlers.nobody}${state === 'done' ? '' : ` ${texts.states[state]}`}`

/** The state of each handler's task, by shape and word. A state that is as it should be needs no word but for screen readers. */
function TaskMarks({ tasks }: { readonly tasks: Tasks }) {
  if (isOne(tasks)) return tasks.map(({ id, state }) => <StateBadge key={id} state={state} />)
  return tasks.map(({ id, handler, state, reason }) => (
    <span key={id} title={[handler, texts.states[state], reason ?? ''].join(' ')} className="flex gap-1">
      <span className="max-w-[16ch] truncate">{handler || texts.handlers.nobody}</span>
      <StateBadge state={state} isWordHidden={state === 'done'} />
    </span>
  ))
}

/** The table of events, one row for each, with the marks of its handlers. */
export function EventsTable({ items, search }: { readonly items: readonly FeedEvent[]; readonly search: EventSearch }) {
  return <DataTable caption={texts.events.table} columns={toColumns(search)} items={items} keyOf={nameOf} />
}

/** A value of a row, as a link to all events of the list with the same value. */
function FilterLink({ change, text }: { readonly change: EventSearch; readonly text: string }) {
  return (
    <Link
      to="/events"
      search={changeFilters(change)}
      activeOptions={{ exact: true }}
      title={text}
      className="text-ink no-underline hover:underline"
    >
      {text}
    </Link>
  )
}

export function OrderLink({ orderId }: { readonly orderId: string }) {
  if (orderId === '') return texts.frame.none
  return (
    <Link
      to="/events"
      search={{ order: orderId }}
      activeOptions={{ exact: true }}
      className="inline-block max-w-full truncate align-middle font-mono"
      title={orderId}
    >
      {orderId}
    </Link>
  )
}
