import { Link } from '@tanstack/react-router'
import type { FeedEvent } from '../api/operator-client.ts'
import { isConfigured } from '../handlers/use-handlers.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Ago, LongId, StateBadge, TestTag } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { nameOf } from './event-feed.ts'
import { changeFilters } from './event-filters.tsx'
import { type EventSearch, matchingTasks } from './event-search.ts'

const HEADS = { reason: 'Reason', provider: 'Provider', type: 'Type' } as const

/** A column whose values lead to all events of the list with the same value. */
function linked(name: keyof typeof HEADS, className: string, of: (event: FeedEvent) => string): Column<FeedEvent> {
  return {
    head: HEADS[name],
    className,
    chars: (event) => of(event).length,
    cell: (event) =>
      of(event) !== '' && (
        <Link
          to="/events"
          search={changeFilters({ [name]: of(event) })}
          activeOptions={{ exact: true }}
          title={of(event)}
          className="text-ink no-underline hover:underline"
        >
          {of(event)}
        </Link>
      ),
  }
}

/** The columns of a list with these filters. A row leads to the task that matches and needs somebody most. */
function toColumns(search: EventSearch): readonly Column<FeedEvent>[] {
  return [
    {
      head: 'Event',
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
      head: 'State',
      chars: ({ tasks, test }) =>
        (isOne(tasks) ? 11 : tasks.reduce((sum, one) => sum + markOf(one).length + 4, 0)) + (test ? 6 : 0),
      most: 32,
      cell: (event) => (
        // The words for screen readers are cut off with the rest.
        <span className="relative flex gap-3 overflow-hidden max-sm:gap-1">
          <TaskMarks tasks={event.tasks} first={matchingTasks(event, search)[0]} />
          {event.test && <TestTag />}
        </span>
      ),
    },
    linked('reason', 'hidden lg:table-cell', (event) => matchingTasks(event, search)[0]?.reason ?? ''),
    linked('provider', 'hidden sm:table-cell', ({ provider }) => provider),
    linked('type', 'hidden xl:table-cell', ({ type }) => type),
    {
      head: 'Order',
      className: 'hidden lg:table-cell',
      chars: ({ orderId }) => orderId.length + 2,
      most: 19,
      cell: ({ orderId }) => <OrderLink orderId={orderId} />,
    },
    {
      head: 'Deliveries',
      className: 'hidden 2xl:table-cell tabular-nums',
      chars: (event) => deliveriesOf(event).length,
      cell: deliveriesOf,
    },
    { head: 'Received', chars: () => 10, cell: ({ receivedAt }) => <Ago at={receivedAt} /> },
  ]
}

const deliveriesOf = ({ deliveries, mismatches }: FeedEvent): string => texts.deliveriesOf(deliveries, mismatches)

type Tasks = FeedEvent['tasks']

/** Whether nobody but the built-in handler has it, as without handlers in the setting. */
function isOne([one, ...others]: Tasks): boolean {
  return one !== undefined && others.length === 0 && !isConfigured(one.handler)
}

const markOf = ({ handler, state }: Tasks[number]): string =>
  `${handler || texts.nobody}${state === 'done' ? '' : ` ${state}`}`

/**
 * The state of each handler's task, by shape and word. A state that is as it should be needs no word but for screen readers. A
 * narrow window shows the `first` task only, and the number of the others.
 */
function TaskMarks({ tasks, first }: { readonly tasks: Tasks; readonly first: Tasks[number] | undefined }) {
  if (isOne(tasks)) return tasks.map(({ id, state }) => <StateBadge key={id} state={state} />)
  return (
    <>
      {tasks.map(({ id, handler, state, reason }) => (
        <span
          key={id}
          title={[handler, state, reason ?? ''].join(' ')}
          className={`flex min-w-0 gap-1 ${id === first?.id ? '' : 'max-sm:sr-only'}`}
        >
          <span className="max-w-[16ch] truncate">{handler || texts.nobody}</span>
          <StateBadge state={state} isWordHidden={state === 'done'} />
        </span>
      ))}
      {tasks.length > 1 && (
        <span aria-hidden="true" className="sm:hidden">
          +{tasks.length - 1}
        </span>
      )}
    </>
  )
}

/** The table of events, one row for each, with the marks of its handlers. */
export function EventsTable({ items, search }: { readonly items: readonly FeedEvent[]; readonly search: EventSearch }) {
  return <DataTable caption="Events, newest first" columns={toColumns(search)} items={items} keyOf={nameOf} />
}

export function OrderLink({ orderId }: { readonly orderId: string }) {
  if (orderId === '') return texts.none
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
