import { Link } from '@tanstack/react-router'
import type { ListedEvent } from '../api/operator-client.ts'
import { isConfigured, useHandlers } from '../handlers/use-handlers.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Instant, LongId, StateBadge, TestTag } from '../parts/values.tsx'
import { texts } from '../texts/texts.ts'
import { changeFilters } from './event-filters.tsx'
import type { EventSearch } from './event-search.ts'

const COLUMNS: readonly Column<ListedEvent>[] = [
  {
    id: 'event',
    head: texts.events.event,
    cell: ({ id, eventId, handler, test }) => (
      <span className="flex gap-2">
        {test && <TestTag />}
        <Link
          to="/events/$id"
          params={{ id }}
          className="flex min-w-0 font-mono"
          aria-label={isConfigured(handler) ? texts.handlers.taskOf(eventId, handler) : eventId}
          title={eventId}
        >
          <LongId id={eventId} />
        </Link>
      </span>
    ),
  },
  {
    id: 'received',
    head: texts.events.received,
    className: 'w-32 sm:w-48',
    cell: ({ receivedAt }) => <Instant at={receivedAt} isShortWhenNarrow />,
  },
  {
    id: 'state',
    head: texts.events.state,
    className: 'w-32',
    cell: ({ state }) => <StateBadge state={state} />,
  },
  {
    id: 'reason',
    head: texts.events.reason,
    className: 'w-48 hidden lg:table-cell',
    cell: ({ reason }) => reason !== null && <FilterLink change={{ reason }} text={reason} />,
  },
  {
    id: 'provider',
    head: texts.events.provider,
    className: 'w-32 hidden sm:table-cell',
    cell: ({ provider }) => <FilterLink change={{ provider }} text={provider} />,
  },
  {
    id: 'type',
    head: texts.events.type,
    className: 'w-48 hidden xl:table-cell',
    cell: ({ type }) => <span title={type}>{type}</span>,
  },
  {
    id: 'order',
    head: texts.events.order,
    className: 'w-56 hidden lg:table-cell',
    cell: ({ orderId }) => <OrderLink orderId={orderId} />,
  },
  {
    id: 'deliveries',
    head: texts.events.deliveries,
    className: 'w-28 hidden xl:table-cell tabular-nums',
    cell: ({ deliveries, mismatches }) => texts.events.deliveriesOf(deliveries, mismatches),
  },
]

/** The classes of columns beside that of the handler. */
const WIDTHS: ReadonlyMap<string, string> = new Map([
  ['reason', 'w-44 hidden lg:table-cell'],
  ['order', 'w-48 hidden lg:table-cell'],
  ['deliveries', 'w-28 hidden 2xl:table-cell tabular-nums'],
])

const HANDLER: Column<ListedEvent> = {
  id: 'handler',
  head: texts.handlers.handler,
  className: 'w-32 hidden sm:table-cell',
  cell: ({ handler }) => (handler === '' ? texts.frame.none : <FilterLink change={{ handler }} text={handler} />),
}

/** The columns with the handler of each task, which takes the place of the less wanted ones. */
const WITH_HANDLER: readonly Column<ListedEvent>[] = COLUMNS.flatMap((column) => {
  if (column.id === 'provider') return [column, HANDLER]
  const width = WIDTHS.get(column.id)
  return [width === undefined ? column : { ...column, className: width }]
})

const keyOf = ({ id }: ListedEvent): string => id

/** The table of events. If there are handlers, each row is the task of one of them. */
export function EventsTable({ items }: { readonly items: readonly ListedEvent[] }) {
  const { data = [] } = useHandlers()
  const hasHandlers = data.length > 0 || items.some(({ handler }) => isConfigured(handler))
  return (
    <DataTable
      caption={texts.events.table}
      columns={hasHandlers ? WITH_HANDLER : COLUMNS}
      items={items}
      keyOf={keyOf}
    />
  )
}

/** A value of a row, as a link to all events of the list with the same value. */
function FilterLink({ change, text }: { readonly change: EventSearch; readonly text: string }) {
  return (
    <Link to="/events" search={changeFilters(change)} activeOptions={{ exact: true }} title={text} className="text-ink">
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
