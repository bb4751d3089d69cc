import { Link } from '@tanstack/react-router'
import type { ListedEvent } from '../api/operator-client.ts'
import { TestTag } from '../event/test-tag.tsx'
import { type Column, DataTable } from '../parts/data-table.tsx'
import { Instant } from '../parts/instant.tsx'
import { LongId } from '../parts/long-id.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { texts } from '../texts/texts.ts'
import { type EventSearch, readEventSearch, withFilter } from './event-search.ts'

const COLUMNS: readonly Column<ListedEvent>[] = [
  {
    id: 'event',
    head: texts.events.event,
    cell: ({ id, eventId, test }) => (
      <span className="flex gap-2">
        {test && <TestTag />}
        <Link to="/events/$id" params={{ id }} className="flex min-w-0 font-mono" aria-label={eventId} title={eventId}>
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

const keyOf = ({ id }: ListedEvent): string => id

/** The table of events. */
export function EventsTable({ items }: { readonly items: readonly ListedEvent[] }) {
  return <DataTable caption={texts.events.table} columns={COLUMNS} items={items} keyOf={keyOf} />
}

/** A value of a row, as a link to all events of the list with the same value. */
function FilterLink({ change, text }: { readonly change: EventSearch; readonly text: string }) {
  const join = (search: Readonly<Record<string, unknown>>) => withFilter(readEventSearch(search), change)
  return (
    <Link to="/events" search={join} title={text} className="text-ink">
      {text}
    </Link>
  )
}

/** An order, as a link to its events. */
export function OrderLink({ orderId }: { readonly orderId: string }) {
  if (orderId === '') return texts.frame.none
  return (
    <Link
      to="/events"
      search={{ order: orderId }}
      className="inline-block max-w-full truncate align-middle font-mono"
      title={orderId}
    >
      {orderId}
    </Link>
  )
}
